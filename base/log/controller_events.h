// The events of a controller that an operator may have to act on. docs/log-messages.md is generated
// from these tables.
//
// A row keeps its identifier for ever. `systemd-id128 new` makes a new identifier.
#pragma once

#include "base/log/log.h"

namespace pace::base::events {

inline constexpr LogEvent kControllerStarts{"controller-starts",
                                            "controller starts",
                                            "cb7d359c924d4775a4e74fd40d399f5a",
                                            LogLevel::info,
                                            "A controller begins, with this configuration.",
                                            ""};

inline constexpr LogEvent kControllerReady{
    "controller-ready", "controller ready",    "2abdcff38d3f4015a7c99e14703c2848",
    LogLevel::info,     "Daemons can attach.", ""};

inline constexpr LogEvent kControllerStops{
    "controller-stops",
    "controller stops",
    "62c55ab08d4a4160a81dc5a46bff3521",
    LogLevel::info,
    "The controller was told to stop. Rounds go on without it; joins and groups wait.",
    ""};

inline constexpr LogEvent kControllerCannotServe{
    "controller-cannot-serve",
    "controller cannot serve",
    "439ae336d7c1445d871506f583d3068b",
    LogLevel::error,
    "The controller ends at once, for the reason given.",
    "correct what the reason names, then start the controller again"};

inline constexpr LogEvent kControllerStoodStill{
    "controller-stood-still",
    "this process did not run; every daemon attaches anew",
    "2c35e16291a04e6fae28695659bf1b6f",
    LogLevel::warning,
    "The controller's machine was suspended, or gave it no processor.",
    "look whether the machine was suspended or is overloaded"};

inline constexpr LogEvent kControllerUnencrypted{
    "controller-unencrypted",
    "listening off loopback without encryption, as insecure = true says",
    "2270105d83ca458f83ecacb83f07ae87",
    LogLevel::warning,
    "Whoever reaches the port can take part, and read along.",
    "make keys with pacectl keygen and set curve_secret_file, unless the network is closed"};

inline constexpr LogEvent kDaemonKeptOut{
    "daemon-kept-out",
    "somebody did not come in",
    "0ebf0d2c519740e881b0b3347e2b560b",
    LogLevel::warning,
    "Somebody connected, and was not let in for the reason given.",
    "do what the reason says, unless it was nobody of this cluster"};

inline constexpr LogEvent kLocalUsersUnknown{
    "local-users-unknown",
    "the kernel does not tell whose connections on loopback are; all are let in",
    "2e3754aa6eda4a63955ab5573a8b3a11",
    LogLevel::warning,
    "Every user of this machine can attach to this controller, which has no keys.",
    "make keys with pacectl keygen and set curve_secret_file, or allow the service AF_NETLINK"};

inline constexpr LogEvent kKeysRead{
    "keys-read",
    "the keys that may connect were read again",
    "231568832b494a4cb056ae07c4db4a34",
    LogLevel::info,
    "Files in curve_allowed_dir have changed. Connections whose key is gone were closed.",
    ""};

inline constexpr LogEvent kKeysNotRead{
    "keys-not-read",
    "keys that may connect cannot be read; those read before stay",
    "ba92003a90b449ac8a8e0be84614e474",
    LogLevel::warning,
    "curve_allowed_dir, or a file in it, cannot be used for the reason given.",
    "correct the file that the reason names; it is read again at once"};

inline constexpr LogEvent kDaemonRefused{
    "daemon-refused",
    "a daemon was refused",
    "667675ada0ea46c0afae61a7bd255b68",
    LogLevel::warning,
    "A daemon was let in, and may not attach for the reason given.",
    "do what the reason says"};

inline constexpr LogEvent kNodeAttached{"node-attached",
                                        "node-attached",
                                        "fef6e5367ded4b2dbe2bf76994fbd708",
                                        LogLevel::info,
                                        "A node takes part from now on.",
                                        ""};

inline constexpr LogEvent kNodeLost{"node-lost",
                                    "node-lost",
                                    "c98f9f4ebd5143fab0b7dcbfd3626488",
                                    LogLevel::warning,
                                    "A node has stopped, or its connection is gone. Its workers "
                                    "are gone with it; the others go on.",
                                    "look at that node's daemon, unless it was stopped on purpose"};

inline constexpr LogEvent kNodeExcluded{
    "node-excluded",
    "node-excluded",
    "506b3b4ad6dc486ead87c5d2612a1d00",
    LogLevel::warning,
    "A node was silent for too long, or its peers lost it, and the others go on. It comes back by "
    "itself when it answers.",
    "look whether that machine is overloaded, stopped or cut off"};

inline constexpr LogEvent kNodeBack{"node-back",
                                    "node-back",
                                    "cb92f05e96554fd3a761cec97035a918",
                                    LogLevel::info,
                                    "A node that was cut off may take part in the job again.",
                                    ""};

inline constexpr LogEvent kLinkSilent{
    "link-silent",
    "link-silent",
    "5309c17834854c6ab59cabf9bf8411a6",
    LogLevel::warning,
    "No bytes pass between two nodes that both reach the controller. Jobs go on without one of "
    "them.",
    "look for a firewall between the data ports, and for a wrong data_interface"};

inline constexpr LogEvent kLinkWhole{"link-whole",
                                     "link-whole",
                                     "041c0c6e766540c69222cbc60543631a",
                                     LogLevel::info,
                                     "The network between two nodes is whole again.",
                                     ""};

inline constexpr LogEvent kJobStarted{"job-started",
                                      "job-started",
                                      "b64e34c58be74ad4a065988c1f2e5014",
                                      LogLevel::info,
                                      "All workers that a job waits for are there.",
                                      ""};

inline constexpr LogEvent kJobEnded{
    "job-ended",    "job-ended",      "7a00370042e840079d2ca31327ccf42d",
    LogLevel::info, "A job is over.", ""};

inline constexpr LogEvent kPolicyChosen{
    "policy-chosen",
    "auto",
    "d1fca8994ab6436fa94dab08bd2b9816",
    LogLevel::info,
    "A job of policy auto goes on in another way, for the reason given.",
    ""};

inline constexpr LogEvent kJournalCut{
    "journal-cut",
    "journal cut",
    "0f590f6a805e4099a473acd415ac7d40",
    LogLevel::warning,
    "The journal ended within a record, as a crash leaves it. The rest was cut off.",
    "none: the daemons announce what is missing"};

inline constexpr LogEvent kJournalLong{"journal-long",
                                       "journal not compacted",
                                       "4edd2e009e164a6082be9eaf27595e1c",
                                       LogLevel::warning,
                                       "The journal stays as long as it is.",
                                       "see the reason; free space on its disk"};

inline constexpr LogEvent kJournalFailed{
    "journal-failed",
    "journal failed",
    "5fff67c6ef324a6fb948e75479cd0030",
    LogLevel::warning,
    "The journal cannot be written. New jobs are refused, others go on, and writing is tried again "
    "by itself.",
    "see the reason; repair the disk, or see that the controller's user may write there"};

inline constexpr LogEvent kDiskFull{
    "disk-full",
    "disk full",
    "972378240f01487ba206e36e57d53cde",
    LogLevel::warning,
    "There is no space left for the journal. New jobs are refused, others go on.",
    "free space on the disk of the journal; the controller goes on by itself"};

inline constexpr LogEvent kJournalWritesAgain{
    "journal-writes-again",
    "journal writes again",
    "9a85e6e55ca147c396f6c34d9b0ac9d2",
    LogLevel::info,
    "The journal is written again, and new jobs are taken.",
    ""};

inline constexpr LogEvent kJournalRead{"journal-read",
                                       "journal recovered",
                                       "fb29010e56524f6d8bc895a6d7fe6400",
                                       LogLevel::info,
                                       "The journal was read, and jobs under way are known again.",
                                       ""};

inline constexpr LogEvent kStatusWithoutMemory{"status-without-memory",
                                               "no memory for a status document",
                                               "43de4b4f305744aea3f1d54fb0865e47",
                                               LogLevel::error,
                                               "Somebody asked for the status and gets no answer.",
                                               "free memory on the controller's machine"};

inline constexpr LogEvent kMessageWithoutMemory{
    "message-without-memory",
    "no memory for a message",
    "3307da69a9994ffea2be936d7f2e1a57",
    LogLevel::error,
    "A daemon's message could not be read; the daemon attaches anew.",
    "free memory on the controller's machine"};

inline constexpr LogEvent kNotedWorkerDied{
    "noted-worker-died",
    "worker-died",
    "2ace88f39b324efaa1cb5833ec9627fb",
    LogLevel::warning,
    "A worker's process has ended, or its daemon is gone. The job goes on without it.",
    "look at the worker's own output; started again, it takes the model from the others"};

inline constexpr LogEvent kNotedWorkerSuspended{
    "noted-worker-suspended",
    "worker-suspended",
    "417b0949d3604dad8ea3a74331de1ee8",
    LogLevel::warning,
    "A job goes on without a worker that is late, or whose model is not the job's, for the reason "
    "given. It comes back with its next call.",
    "if it is late, look why; for steps that are long by nature raise the option "
    "worker.timeout_ms"};

inline constexpr LogEvent kNotedWorkerMissing{
    "noted-worker-missing",
    "worker-missing",
    "37f930185ad6435cb2384942427ecbe4",
    LogLevel::warning,
    "A worker that the job knew did not come back after the controller's restart.",
    "start that worker again"};

inline constexpr LogEvent kNotedGroupFailed{
    "noted-group-failed",
    "group-failed",
    "e642126f17414298aeed29638ba33a79",
    LogLevel::warning,
    "A group's exchange did not come to pass, and its workers are put into others.",
    "look at the nodes that are named, unless one was stopped"};

inline constexpr LogEvent kNotedNoModel{"noted-no-model",
                                        "no-model",
                                        "29c11c3d635f48569c5d155996155176",
                                        LogLevel::warning,
                                        "No worker of the job has the current model for a new one.",
                                        "call pace_broadcast once at the job's beginning"};

inline constexpr LogEvent kNotedModelLost{
    "noted-model-lost",
    "model-lost",
    "5f1ae9db5f474609880030061aebc731",
    LogLevel::warning,
    "A node that kept a part of a model is gone, and no checkpoint has it.",
    "have every worker call pace_broadcast; set checkpoints to be safe next time"};

inline constexpr LogEvent kNotedCheckpointFailed{
    "noted-checkpoint-failed",
    "checkpoint-failed",
    "46d04926a2be4eb8a027624f84a8f3b4",
    LogLevel::warning,
    "A checkpoint did not come onto every node's disk. Older ones stay, and the model goes on.",
    "look at the disk of the node in the reason"};

inline constexpr LogEvent kNotedNodeLeftOut{
    "noted-node-left-out",
    "node-left-out",
    "d4c3ec05937c486d9554570741018375",
    LogLevel::warning,
    "A job goes on without a node, between which and another no bytes pass.",
    "look for a firewall between the data ports, and for a wrong data_interface"};

inline constexpr LogEvent kNotedWorkerBack{"noted-worker-back",
                                           "worker-back",
                                           "c6f6f92cc5f344828a9062bf639d2209",
                                           LogLevel::info,
                                           "A worker that a job went on without takes part again.",
                                           ""};

inline constexpr LogEvent kNodeDrained{
    "node-drained",
    "node-drained",
    "4bc45d983a0346c699860e6b2124bfc9",
    LogLevel::info,
    "An operator took a node out of use: its workers leave their jobs, and no others join there.",
    ""};

inline constexpr LogEvent kNodeUndrained{"node-undrained",
                                         "node-undrained",
                                         "f79c7101eeac4bebb314b4effae7349f",
                                         LogLevel::info,
                                         "An operator put a node back into use.",
                                         ""};

inline constexpr LogEvent kJobFinished{"job-finished",
                                       "job-finished",
                                       "d785aaac59cd4129a996ca299889355a",
                                       LogLevel::info,
                                       "The last worker of a job has left.",
                                       ""};

}  // namespace pace::base::events
