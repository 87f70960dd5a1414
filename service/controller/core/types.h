// The controller's vocabulary: nodes, jobs, workers, events that come in and actions that go out.
//
// Words as in docs/architecture.md. A *view* is the membership of a job at one epoch: the workers
// over which the verbs for all members (reduce, broadcast, sync, barrier) run. A *round* is the
// n-th such exchange of a job. A *group* is the workers of one partial reduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "service/controller/core/ids.h"
#include "service/controller/core/options.h"
#include "service/controller/core/server_types.h"

namespace pace::controller {

using base::Duration;
using base::TimePoint;

// A member of a view, or of a group.
struct Member {
    Rank rank = 0;
    NodeId node = 0;
    uint32_t zone = 0;  // number of the place that the node is in; 0: none is known
    uint32_t nccl = 0;  // as in NodeAttach
    bool operator==(const Member&) const = default;
};

// ----------------------------------------------------------------------------------------------
// events

// A daemon says hello, for the first time, after a restart (another generation), or after it was
// excluded or the controller restarted. Its earlier attachment, if any, is lost first.
struct NodeAttach {
    std::string name;
    uint64_t generation = 0;         // random number of the daemon process
    std::vector<std::byte> address;  // of its data plane
    std::string host;                // for people
    uint32_t processors = 0;
    NodeId last_id = 0;  // as the daemon remembers it; 0: none
    std::string zone{};  // rack or data center, in words of the operator; may be empty
    uint32_t nccl = 0;   // the NCCL that it could use (protocol/nccl.h); 0: none
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
    JobOptions options;
    uint32_t uid = 0;  // owner; another uid's job is refused
    bool resume = false;
    uint64_t iteration = 0;
    uint64_t rounds_completed = 0;
    uint64_t epoch = 0;  // the last view the daemon had committed
};

// pacectl job create: a job without workers yet.
struct JobCreate {
    RequestId request = 0;
    NodeId node = 0;
    JobOptions options;
    uint32_t uid = 0;
};

// With rank kNoRank: no worker of the job is left on the node, but it owes something of top-k.
struct WorkerLeave {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
    bool orderly = false;   // false: its process died
    RequestId request = 0;  // to be answered by WorkerLeft, if not 0
};

// A worker that joined a job already under way has submitted its first request: from the next view
// on it takes part. `wants_model`: that request is a broadcast, to be answered with a healthy
// worker's current model.
struct WorkerAdmit {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
    bool wants_model = false;
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
};

// A round, or a group, makes no progress; the node waits for these nodes. Without any: something has
// failed there that only another view begins anew.
struct Stalled {
    NodeId node = 0;
    JobId job = 0;
    std::vector<NodeId> waiting_for;
};

// What a node's heartbeat says of a worker.
struct WorkerReport {
    JobId job = 0;
    Rank rank = 0;
    uint64_t iteration = 0;
    uint64_t rounds_submitted =
        0;  // requests for all members that it has submitted since it was admitted + base
    uint64_t busy_ms = 0;  // since it has no request in flight
    bool stopped = false;  // its process is stopped by a signal
    uint64_t calls = 0;    // exchanges that it has called so far
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
};

// Time has passed. The shell sends one no later than Core::next_deadline().
struct Tick {};

using Event =
    std::variant<NodeAttach, NodeHeard, NodeLost, PeerLost, WorkerJoin, JobCreate, WorkerLeave,
                 WorkerAdmit, Ready, Withdraw, GroupDone, ViewPrepared, Stalled, Heartbeat,
                 ServerStored, ServerAsked, ServerAssigned, CheckpointAsked, ServerSaved, Tick>;

// ---------------------------------------------------------------------------------------------
// actions

// To the node: it is attached under this id.
struct Attached {
    NodeId node = 0;
    std::string name;
};

struct JoinAccepted {
    NodeId node = 0;
    RequestId request = 0;
    JobId job = 0;
    Rank rank = 0;           // kNoRank in answer to JobCreate
    JobOptions options;      // as the job has them, defaults filled in
    uint64_t token = 0;      // the job's secret, from which exchange numbers derive
    bool under_way = false;  // the job has started already: the worker is a newcomer
};
inline constexpr Rank kNoRank = ~Rank{0};

struct JoinRefused {
    NodeId node = 0;
    RequestId request = 0;
    base::Error error;
};

// To every node of the old and the new view: stop the rounds of older epochs and answer
// ViewPrepared.
struct PrepareView {
    NodeId node = 0;  // addressee
    JobId job = 0;
    uint64_t epoch = 0;
    uint64_t token = 0;  // the job's, as in JoinAccepted: a lost journal's job has got another
};

// To every node with a member of the new view: continue with round `base_round`, over these members
// (in rank order). A node that has committed fewer rounds fetches the result of round base_round-1
// from `donor`. A newcomer that wants the model gets it as `adoptions` say. One action for all: a
// copy of the members for each node would be (nodes x members).
struct CommitView {
    std::vector<NodeId> nodes;  // addressees
    JobId job = 0;
    uint64_t epoch = 0;
    uint64_t base_round = 0;
    NodeId donor = 0;
    std::vector<NodeId>
        behind;  // nodes of the old view that have committed base_round - 1 rounds only
    // Addressees that are not in the view: what they owe of top-k goes to nodes that are.
    std::vector<NodeId> leavers;
    std::vector<Member> members;
    struct Adoption {
        Rank newcomer = 0;
        Rank donor = 0;
        bool operator==(const Adoption&) const = default;
    };
    std::vector<Adoption> adoptions;

    // Of a server job: the node of each shard of the model, its generation, and the order up to here. Nodes that have not heard the
    // last of it go through `missed` first. A node that knows the model in another generation forgets it.
    std::vector<NodeId> shards{};
    uint64_t generation = 0;
    ServerLedger ledger{};
    std::vector<ServerEntry> missed{};
    bool model_lost =
        false;  // nobody had all of the model any more, and nothing has been assigned since
    // Not 0: the shards are those of the checkpoint of this generation, at the ledger's position.
    uint64_t saved_generation = 0;
};

// To every node of a group: exchange with these weights, now. One action for the whole group; the
// shell sends it to each node that appears in `members`. Order of members: by rank.
struct GroupOrder {
    JobId job = 0;
    GroupId group = 0;
    uint64_t epoch = 0;
    struct Part {
        Rank rank = 0;
        NodeId node = 0;
        uint64_t iteration = 0;
        double weight = 0;
        uint32_t zone = 0;  // as in Member
        uint32_t nccl = 0;
    };
    std::vector<Part> members;
    double initial_weight = 0;  // of the model at the start of training
    uint64_t iteration = 0;     // every member's iteration afterwards
    uint32_t digest = 0;
};

struct GroupAbort {
    NodeId node = 0;  // addressee
    JobId job = 0;
    GroupId group = 0;
    std::string reason;
};

// To a worker's node: the worker was suspended (late, frozen). Its requests end as stale; it may
// come back as a newcomer.
struct WorkerSuspended {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
    std::string reason;
};

// The rank is free.
struct WorkerLeft {
    NodeId node = 0;
    RequestId request = 0;
};

// To a worker's node, in answer to Withdraw: the signal was still waiting and is gone. No answer means that an order which
// names the worker is on its way already.
struct Withdrawn {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
};

// To a node: prove that you are alive (any message will do).
struct Probe {
    NodeId node = 0;
};

// To the excluded node: all its attachments are void; attach again.
struct Excluded {
    NodeId node = 0;
    std::string reason;
};

// To all other nodes: forget this peer.
struct NodeGone {
    NodeId node = 0;
    std::string reason;
};

// To all nodes: a peer exists and can be reached here. Sent before any view or order that names it.
struct NodeKnown {
    NodeId to = 0;  // addressee; 0: all
    NodeId node = 0;
    std::string name;
    std::vector<std::byte> address;
};

// Hard state to be made durable; the record's layout is the journal's (core/journal_record.h).
struct JournalAppend {
    std::vector<std::byte> record;
};

// Something that an operator wants to read.
struct Note {
    bool warning = false;
    std::string event;
    std::string detail;
};

using Action =
    std::variant<Attached, JoinAccepted, JoinRefused, PrepareView, CommitView, GroupOrder,
                 ServerOrder, CheckpointEnded, ServerEnd, GroupAbort, WorkerSuspended, WorkerLeft,
                 Withdrawn, Probe, Excluded, NodeGone, NodeKnown, JournalAppend, Note>;
using Actions = std::vector<Action>;

}  // namespace pace::controller
