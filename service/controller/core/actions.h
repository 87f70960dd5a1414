// Actions: what goes out of the controller's core, to daemons, to the journal and to operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "service/controller/core/ids.h"
#include "service/controller/core/options.h"
#include "service/controller/core/run.h"
#include "service/controller/core/server_types.h"

namespace pace::controller {

// A member of a view, or of a group.
struct Member {
    Rank rank = 0;
    NodeId node = 0;
    uint32_t zone = 0;  // number of the place that the node is in; 0: none is known
    uint32_t nccl = 0;  // as in NodeAttach
    bool operator==(const Member&) const = default;
};

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
    Run run{};
};

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
    uint64_t began = 0;  // its run's, for the same reason
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
        // kNoRank: there is no model yet; the newcomer waits for it in a round, as all do.
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
    // The generation begins with this view: only now may a node make the shards that it is to keep. Later one that
    // has them not has lost them.
    bool model_begins = false;
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

// To a worker's node: it asked for a model, and no member has one that its daemon knows. It is in no
// view, and may ask again, or go on with its own (WorkerAdmit::accepts_own).
struct NoModel {
    NodeId node = 0;
    JobId job = 0;
    Rank rank = 0;
};

// To every node that may have something of the job: it is over.
struct JobEnded {
    std::vector<NodeId> nodes;  // addressees
    JobId job = 0;
    uint64_t token = 0;
};

// In answer to JobKept: the job goes on, and needs nothing of what the node has of it.
struct PartEnded {
    NodeId node = 0;
    JobId job = 0;
    uint64_t token = 0;
};

// In answer to JobDelete; a refusal is a JoinRefused.
struct JobDeleted {
    NodeId node = 0;
    RequestId request = 0;
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

// To nobody: the node is gone for long, and its id is known no more.
struct NodeForgotten {
    NodeId node = 0;
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
                 ServerOrder, CheckpointEnded, JobEnded, PartEnded, GroupAbort, WorkerSuspended,
                 NoModel, JobDeleted, WorkerLeft, Withdrawn, Probe, Excluded, NodeGone,
                 NodeForgotten, NodeKnown, JournalAppend, Note>;
using Actions = std::vector<Action>;

}  // namespace pace::controller
