// Events: what comes in to the controller's core, from daemons, from pacectl and from the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "service/controller/core/ids.h"
#include "service/controller/core/options.h"
#include "service/controller/core/run.h"
#include "service/controller/core/server_types.h"

namespace pace::controller {

// A daemon says hello, for the first time, after a restart (another generation), or after it was
// excluded or the controller restarted. Its earlier attachment, if any, is lost first.
struct NodeAttach {
    std::string name;
    uint64_t generation = 0;         // random number of the daemon process
    std::vector<std::byte> address;  // of its data plane
    std::string host;                // for people
    uint32_t processors = 0;
    NodeId last_id = 0;   // as the daemon remembers it; 0: none
    std::string zone{};   // rack or data center, in words of the operator; may be empty
    uint32_t nccl = 0;    // the NCCL that it could use (protocol/nccl.h); 0: none
    bool hosted = false;  // it lives in its trainer's process: when it is lost, so is the trainer
};

// Any message came from the node. Feeds the adaptive liveness.
struct NodeHeard {
    NodeId node = 0;
};

// The daemon says goodbye, or the shell knows that it is gone.
struct NodeLost {
    NodeId node = 0;
    std::string reason;
};

// A daemon's transport lost its peer. The suspect is probed, and excluded unless it answers.
struct PeerLost {
    NodeId reporter = 0;
    NodeId suspect = 0;
    std::string reason;
};

// A worker wants in. The first one creates the job. `resume` says that the worker was a member
// already and its daemon announces it again (controller restarted, daemon excluded): soft state
// comes with it.
struct WorkerJoin {
    RequestId request = 0;
    NodeId node = 0;
    Rank rank = 0;
    AskedOptions options;
    uint32_t uid = 0;  // owner; another uid's job is refused
    bool resume = false;
    uint64_t iteration = 0;
    uint64_t rounds_completed = 0;  // whose results its model has
    uint64_t epoch = 0;             // the last view the daemon had committed
    Run run{};            // that the worker is of; without `began` unless it was in it already
    uint64_t opened = 0;  // when a run begins of which it is the first worker
    Rerun rerun = Rerun::when_all_died;
};

// pacectl job create: a job without workers yet.
struct JobCreate {
    RequestId request = 0;
    NodeId node = 0;
    AskedOptions options;
    uint32_t uid = 0;
};

// pacectl job delete: of a job that no worker is in. Only its owner may, and root.
struct JobDelete {
    RequestId request = 0;
    NodeId node = 0;
    std::string name;
    uint32_t uid = 0;
};

struct WorkerLeave {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
    bool orderly = false;   // false: its process died
    RequestId request = 0;  // to be answered by WorkerLeft, if not 0
};

// The node has something of a job and no worker in it, or shards of its model. Said again until it is answered by JobEnded or
// PartEnded.
struct JobKept {
    NodeId node = 0;
    JobId job = 0;
    uint64_t token = 0;  // the job's, as the node knows it
    bool model = false;  // shards of a parameter server
    bool debts = false;  // what top-k has left out, that no view has named an heir of
};

// A worker that joined a job already under way has submitted its first request: from the next view
// on it takes part. `wants_model`: that request is a broadcast, to be answered with a healthy
// worker's current model.
struct WorkerAdmit {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
    bool wants_model = false;
    // It was told that it lacks rounds and that nobody can give it a model: it goes on with its own.
    bool accepts_own = false;
};

// called: the worker waits. announced: it computes, and will call with this iteration; its group may form meanwhile.
// arrived: it has called, as announced.
enum class ReadyStage : uint8_t { called = 0, announced = 1, arrived = 2 };

// The ready signal of partial reduce. `digest` describes the buffers (types, counts): a group mixes
// no digests.
struct Ready {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
    uint64_t iteration = 0;
    uint32_t digest = 0;
    ReadyStage stage = ReadyStage::called;
};

// Takes back a signal, or an announcement.
struct Withdraw {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
    bool unanswered = false;
};

// One node's part of a group's exchange has ended. After a failure the node's members are ready
// again by themselves: their daemon sends new Ready signals.
struct GroupDone {
    NodeId node = 0;
    JobId job = 0;
    GroupId group = 0;
    bool failed = false;
    uint64_t moving_ns = 0;  // time from order to result
    uint64_t bytes = 0;      // sent over the data plane by this node
    std::string reason{};    // why it failed, for people
};

// Answer to PrepareView: the node has stopped its rounds of older epochs. `completed` rounds have
// committed there.
struct ViewPrepared {
    NodeId node = 0;
    JobId job = 0;
    uint64_t epoch = 0;
    uint64_t completed = 0;     // rounds
    uint64_t round_epoch = 0;   // the view over which the node's last round began
    uint64_t result_epoch = 0;  // that of its last completed round; 0: it has not that one's result
    ServerReport server{};      // of a server job
    // Not 0: the node has not stopped, since it knows of a view, or a change to one, that is not older than this
    // one. The change begins again above that.
    uint64_t newer_epoch = 0;
    std::vector<Rank> without_model{};  // workers there that can give a newcomer none
};

// A round, or a group, makes no progress; the node waits for these nodes. Without any: something has
// failed there that only another view begins anew.
struct Stalled {
    NodeId node = 0;
    JobId job = 0;
    std::vector<NodeId> waiting_for;
};

// What the node says of the way to another: nothing at all has come from there for so long, though that node was asked to
// answer; or something comes again.
struct LinkCut {
    NodeId node = 0;  // who says so
    NodeId from = 0;
    bool cut = false;
    uint64_t silent_ms = 0;
};

// What a node's heartbeat says of a worker.
struct WorkerReport {
    JobId job = 0;
    Rank rank = 0;
    uint64_t iteration = 0;
    uint64_t rounds_submitted =
        0;  // requests for all members that it has submitted since it was admitted + base
    uint64_t busy_ms = 0;      // since it has no request in flight
    bool stopped = false;      // its process is stopped by a signal
    uint64_t calls = 0;        // exchanges that it has called so far
    uint64_t computed_us = 0;  // how long it has had no request in flight before them, in all
};

// A group that has ended and that the controller did not order (static groups). Each node with a
// member tells of its part, under the group's number, which is not the controller's.
struct GroupReport {
    JobId job = 0;
    uint64_t group = 0;
    std::vector<Rank> members;          // ascending
    uint64_t iteration = 0;             // of the first one at that node
    std::vector<uint64_t> waited_ns{};  // of each member at that node, from its call to the begin
    uint64_t moving_ns = 0;             // from the begin, when the last one at that node has called
    uint64_t bytes = 0;                 // sent over the data plane by that node
    uint64_t ended_before_ns = 0;       // before the heartbeat was written
    uint64_t left_out = 0;  // groups that have ended before, with their first member at that node,
                            // of which it does not tell
};

// What the way to another node was measured to take.
struct LinkReport {
    NodeId node = 0;
    uint64_t latency_ns = 0;  // of a message there
    double ns_per_byte = 0;
};

struct Heartbeat {
    NodeId node = 0;
    std::vector<WorkerReport> workers;
    std::vector<GroupReport> groups{};
    std::vector<LinkReport> links{};
    uint64_t number = 0;  // the answer has it, too
};

// Time has passed. The shell sends one no later than Core::next_deadline().
struct Tick {};

using Event = std::variant<NodeAttach, NodeHeard, NodeLost, PeerLost, WorkerJoin, JobCreate,
                           JobDelete, WorkerLeave, JobKept, WorkerAdmit, Ready, Withdraw, GroupDone,
                           ViewPrepared, Stalled, LinkCut, Heartbeat, ServerStored, ServerAsked,
                           ServerAssigned, CheckpointAsked, ServerSaved, Tick>;

}  // namespace pace::controller
