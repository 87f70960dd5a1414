// The events of a daemon that an operator may have to act on. They are about its start and end, its
// controller, its peers, its clients and its GPUs. docs/log-messages.md is generated from these
// tables.
//
// A row keeps its identifier for ever. `systemd-id128 new` makes a new identifier.
#pragma once

#include "base/log/log.h"

namespace pace::base::events {

inline constexpr LogEvent kDaemonStarts{"daemon-starts",
                                        "daemon starts",
                                        "50a74cff026f4c84aa8ff5f8d837115f",
                                        LogLevel::info,
                                        "A daemon begins, with this configuration.",
                                        ""};

inline constexpr LogEvent kDaemonReady{"daemon-ready",
                                       "serving",
                                       "f11fc8de3eb449c88f8de0e973e1d036",
                                       LogLevel::info,
                                       "The daemon takes clients.",
                                       ""};

inline constexpr LogEvent kDaemonStops{"daemon-stops",
                                       "stopping",
                                       "2e7abed5658e430d856980bb0977e471",
                                       LogLevel::info,
                                       "The daemon was told to stop.",
                                       ""};

inline constexpr LogEvent kDaemonCannotServe{
    "daemon-cannot-serve",
    "the daemon cannot serve",
    "f99e6ae5c3c74558bad367d4ab3e1d35",
    LogLevel::error,
    "The daemon ends at once, for the reason given.",
    "correct what the reason names, then start the daemon again"};

inline constexpr LogEvent kLoopStoodStill{
    "loop-stood-still",
    "the event loop stood still",
    "9fddb5fef12147098c1d5c6a1f99f50d",
    LogLevel::warning,
    "One step of the event loop took 50 ms or more, in which nobody was served.",
    "if it comes often, report it with this line"};

inline constexpr LogEvent kRecordingKept{
    "recording-kept",
    "a recording was kept",
    "0dd6a32cc059453497bfc82d73d9c869",
    LogLevel::info,
    "What this daemon did in the last minutes is in a file, since a worker or a node was given up.",
    ""};

inline constexpr LogEvent kRecordingFailed{
    "recording-failed",
    "a recording cannot be kept",
    "d9f0b7c0e6f64abf9c86269bdefda9aa",
    LogLevel::warning,
    "The flight recorder's file cannot be written.",
    "see the reason; the folder is recordings in the state folder of the unit"};

inline constexpr LogEvent kLogEntriesLost{
    "log-entries-lost",
    "log entries were lost",
    "dd1c84e44fa940d781ace0d9a2729d41",
    LogLevel::warning,
    "The journal, or who reads standard error, was too slow, and nobody waited for it.",
    "look why the journal is slow, or raise its limits in journald.conf"};

inline constexpr LogEvent kControllerAttached{
    "controller-attached",
    "attached to the controller",
    "0b1f3790be0642fd9aaf6ec4a380626b",
    LogLevel::info,
    "The controller knows this node: it was reached for the first time, or can be reached again.",
    ""};

inline constexpr LogEvent kControllerLost{
    "controller-lost",
    "lost the controller",
    "ea3d9d2048ec40429e19cfdf06744ffa",
    LogLevel::warning,
    "The connection to the controller is gone. Rounds go on; joins and groups wait.",
    "none if it is attached again within seconds; otherwise see the reason that follows, or "
    "pacectl doctor"};

inline constexpr LogEvent kControllerUnreachable{
    "controller-unreachable",
    "not attached to the controller",
    "2d4579fe90cf4f1da7e3deeab99a14f8",
    LogLevel::warning,
    "The daemon cannot attach to its controller, for the reason given.",
    "do what the reason says; pacectl doctor has it, too"};

inline constexpr LogEvent kControllerRefuses{
    "controller-refuses",
    "the controller refuses this daemon",
    "46d1d9af3dd440f3951bc8cc9eddb5e7",
    LogLevel::error,
    "The controller answers, and does not take this daemon.",
    "do what the reason says"};

inline constexpr LogEvent kExcluded{
    "excluded",
    "excluded by the controller",
    "539bc950fc1a4092aac307276f67594e",
    LogLevel::warning,
    "The cluster has gone on without this node, which was silent for too long. It attaches again "
    "by itself.",
    "if it comes again, look whether the machine is overloaded or the network loses packets"};

inline constexpr LogEvent kPeerGone{"peer-gone",
                                    "peer is gone",
                                    "5f1bfb255eef4f8dbde54e17c7836f95",
                                    LogLevel::warning,
                                    "Another node has stopped, or was excluded.",
                                    "look at that node, unless it was stopped on purpose"};

inline constexpr LogEvent kPeerKeyUnusable{
    "peer-key-unusable",
    "the key for a peer cannot be used",
    "27fed7f96f9d4615960c4dcbf5df4dbe",
    LogLevel::error,
    "The data plane cannot reach this peer, for the reason given.",
    "use the same data_transport on all nodes"};

inline constexpr LogEvent kDataPortStranger{
    "data-port-stranger",
    "a stranger reached the data port",
    "2248c7c49d5c48a2bfa97a610a85ee11",
    LogLevel::warning,
    "Somebody connected to the data port and did not prove to be a node of this cluster. The "
    "connection was closed.",
    "find out who it was, unless a node was just added, restarted or removed"};

inline constexpr LogEvent kPeerLost{
    "peer-lost",
    "lost the connection to a peer",
    "975d8cbac0ba4e79848fdfc9b2829097",
    LogLevel::warning,
    "The connection to another node's daemon broke.",
    "look at that node's daemon and at the network between the two"};

inline constexpr LogEvent kPeerStuck{
    "peer-stuck",
    "connecting anew to a peer that does not move",
    "cf9e4f4204fb485693c70a70c92c2150",
    LogLevel::warning,
    "A connection took nothing any more, and is made again.",
    "none if it happens once; otherwise look at the network between the two nodes"};

inline constexpr LogEvent kPeerSilent{
    "peer-silent",
    "no bytes from a node: going on without it",
    "a3d1165a531a4dec81f03b05c05c6f96",
    LogLevel::warning,
    "Both nodes reach the controller, and no bytes pass between them. Jobs go on without one of "
    "them.",
    "look for a firewall between the data ports, and for a wrong data_interface"};

inline constexpr LogEvent kPeerBack{"peer-back",
                                    "bytes come from a node again",
                                    "64403c6a70d44907babeab119dfba360",
                                    LogLevel::info,
                                    "The network between the two nodes is whole again.",
                                    ""};

inline constexpr LogEvent kClientRefused{
    "client-refused",
    "client refused",
    "774d3d0c31a34dddb609e602b3f9c99a",
    LogLevel::warning,
    "A program was not let in, or has said what no library of Pace says. Its connection is closed.",
    "do what the reason says"};

inline constexpr LogEvent kLimitRefused{
    "limit-refused",
    "a limit refuses what a client asks for",
    "fefaa6a128a04613aab94b4261b274fb",
    LogLevel::warning,
    "One of the daemon's limits is reached, which the reason names.",
    "raise the limit in the daemon's configuration, or have the user free what is not needed "
    "(pacectl daemon lists it)"};

inline constexpr LogEvent kSocketGroupFailed{
    "socket-group-failed",
    "cannot give the socket to its group",
    "d58a1c2087a74385b40f5a0bda6f5405",
    LogLevel::warning,
    "Only the daemon's own user may connect now.",
    "let the daemon's user be a member of socket_group, or start the daemon by its unit"};

inline constexpr LogEvent kSocketModeFailed{
    "socket-mode-failed",
    "cannot set the socket's mode",
    "6a57eb76b8aa435e9293e23398c5dc2b",
    LogLevel::warning,
    "Who may connect is not as it should be.",
    "look at the folder of the socket: the daemon's user has to own the socket"};

inline constexpr LogEvent kListeningFailed{
    "listening-failed",
    "cannot listen for clients",
    "ae345262d9bb46449150b9558f97f5d3",
    LogLevel::error,
    "No client can connect until the daemon has tried again, in a second.",
    "see the reason; raise LimitNOFILE= of the unit if descriptors are short"};

inline constexpr LogEvent kAcceptingFailed{
    "accepting-failed",
    "cannot accept clients",
    "d850ed356bc846fda603db8063c739cb",
    LogLevel::error,
    "No client can connect until the daemon has tried again, in a second.",
    "see the reason; raise LimitNOFILE= of the unit if descriptors are short"};

inline constexpr LogEvent kGpuUnusable{
    "gpu-unusable",
    "a GPU cannot be used",
    "be3c50fd6a7b41d9bda96620781e7c7b",
    LogLevel::warning,
    "The driver does not say what the daemon has to know of a GPU.",
    "see the reason; look at nvidia-smi and the driver's version"};

inline constexpr LogEvent kGpuNotOpened{
    "gpu-not-opened",
    "a GPU could not be opened",
    "5b0b9a1f3ce94c63a7d20c84be6f91d7",
    LogLevel::warning,
    "The daemon could not make its context on a GPU. Buffers on it are refused.",
    "see the reason; the daemon tries again whenever a trainer asks for the GPU"};

inline constexpr LogEvent kGpuShared{
    "gpu-shared",
    "a GPU is shared",
    "75cae121e817471ab4c49da1d89cbd80",
    LogLevel::warning,
    "Another daemon of this machine uses the GPU, too.",
    "stop the other daemon, unless this is a test of several nodes"};

inline constexpr LogEvent kGpuWithoutKernels{
    "gpu-without-kernels",
    "a GPU only moves data: what is summed is summed on the host",
    "01fe7573a2eb4522931e6df051e2ba50",
    LogLevel::warning,
    "The plug-in pace-device-cuda.so is missing or does not fit. All works, slower.",
    "install the plug-in of this release where the reason says, then restart the daemon"};

inline constexpr LogEvent kGpuFailed{
    "gpu-failed",
    "a GPU has failed; the daemon ends, so that the next one opens the GPU again",
    "3d1f0c6b2f2e4b5c9d0b7e4a8c615f27",
    LogLevel::error,
    "The driver refuses all further calls of this process. The next daemon takes the buffers over.",
    "see the reason, and the kernel's log for Xid; look at nvidia-smi if it comes again"};

inline constexpr LogEvent kNcclAbsent{"nccl-absent",
                                      "GPUs exchange through the host, without NCCL",
                                      "5fb8eb9ebb5c46869f684dbe9b8c20bc",
                                      LogLevel::info,
                                      "NCCL is not installed, or switched off. All works, slower.",
                                      ""};

inline constexpr LogEvent kNcclRefused{
    "nccl-refused",
    "sums among some GPUs go by way of the hosts",
    "b5912face2314d40a1cc3a88c89c1af4",
    LogLevel::warning,
    "NCCL cannot be used among these GPUs now; it is tried again later.",
    "see the reason; NCCL's interface follows data_interface"};

inline constexpr LogEvent kTopKOnHost{
    "top-k-on-host",
    "top-k goes by the host",
    "06c7f30e1fff4bf681e3fe6dad897bd2",
    LogLevel::warning,
    "The GPU has no memory to cut a gradient there.",
    "free memory of the GPU, or leave it as it is: it works, slower"};

inline constexpr LogEvent kTopKLeftDevice{"top-k-left-device",
                                          "top-k goes by the host from now on",
                                          "91f8c40cf00b48d4993422a6aa649a6c",
                                          LogLevel::warning,
                                          "A kernel that cuts gradients on the GPU has failed.",
                                          "see the reason; report it with this line"};

}  // namespace pace::base::events
