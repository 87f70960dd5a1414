// The vocabulary of server jobs: the order of what happens to a model, and the events and actions about it; the rest is in types.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/controller/core/ids.h"

namespace pace::controller {

// What follows from a server job's order up to a position, apart from the model itself. Whoever takes up the order goes on
// from here.
struct ServerLedger {
    struct Worker {
        Rank rank = 0;
        uint64_t clock = 0;       // its next update's
        uint64_t version = 0;     // of the model, that it works on
        uint64_t prefetched = 0;  // that it goes on with after its next update; 0: none
        bool operator==(const Worker&) const = default;
    };
    struct Version {
        uint64_t version = 0;
        uint64_t updates = 0;
        bool operator==(const Version&) const = default;
    };
    uint64_t position = 0;
    uint64_t fastest = 0;  // clock
    uint64_t pushes = 0;
    std::vector<Worker> workers;    // by rank
    std::vector<Version> versions;  // that may get further updates, in order
    bool operator==(const ServerLedger&) const = default;
};

// What happens to the model of a server job at one position of its order (core/server.h).
// assign: what a round of pace_broadcast has given all workers becomes the model. checkpoint: every node saves the shards that it keeps.
enum class ServerStep : uint8_t {
    assign = 1,
    push = 2,
    pull = 3,
    join = 4,
    leave = 5,
    checkpoint = 6
};

struct ServerEntry {
    uint64_t position = 0;  // 1, 2, …
    ServerStep step = ServerStep::push;
    uint64_t clock = 0;    // of a push, or pull: its step; of an assignment: the round
    uint64_t version = 0;  // of a push: that it belongs to
    double rate = 0;       // of a push: what every update of that version counts from here on
    std::vector<uint64_t> expired;  // versions that get no further updates
    uint64_t slowest = 0;           // the slowest worker's clock
    ServerLedger::Worker
        worker;          // whose push or pull it is, who joins or leaves: as it is after that
    uint64_t first = 0;  // of a pull: elements [first, first + count)
    uint64_t count = 0;
};

// Shards of one checkpoint that are on a node's disk.
struct SavedModel {
    uint64_t token = 0;       // of the job that has saved it
    uint64_t generation = 0;  // of its model then
    uint32_t shards = 0;      // into which that was cut
    std::vector<uint32_t> there;
    ServerLedger ledger;  // at whose position they are
};

// What a node says of a server job's model when a view is prepared.
struct ServerReport {
    uint64_t generation = 0;        // 0: it knows nothing of the model
    std::vector<NodeId> places;     // the node of each shard
    std::vector<uint32_t> shards;   // that it keeps
    ServerLedger ledger;            // as far as it has heard the order
    std::vector<ServerEntry> tail;  // the last of the order, in order
    std::vector<SavedModel> saved;
    bool model_lost = false;  // and nothing has been assigned since
};

// ---------------------------------------------------------------------------------------- events

// Every shard of a server job's model holds the worker's update. `generation` is that of the model.
struct ServerStored {
    NodeId node = 0;
    JobId job = 0;
    uint64_t generation = 0;
    Rank rank = 0;
    uint64_t clock = 0;
};

// The worker wants the model for its step of `clock`, with those of its own updates whose clock is below `own`.
struct ServerAsked {
    NodeId node = 0;
    JobId job = 0;
    uint64_t generation = 0;
    Rank rank = 0;
    uint64_t clock = 0;
    uint64_t own = 0;
    uint64_t first = 0;  // elements of the model, that are asked for
    uint64_t count = 0;
};

// A round of pace_broadcast has been committed at the node, and is to be the model.
struct ServerAssigned {
    NodeId node = 0;
    JobId job = 0;
    uint64_t generation = 0;
    uint64_t round = 0;
};

// A shard's part of the checkpoint at this position is durable, or it failed.
struct ServerSaved {
    NodeId node = 0;
    JobId job = 0;
    uint64_t generation = 0;
    uint64_t position = 0;
    uint32_t shard = 0;
    std::string failure;  // empty: none
};

// The worker wants a checkpoint with those of its updates whose clock is below `own`.
struct CheckpointAsked {
    NodeId node = 0;
    JobId job = 0;
    uint64_t generation = 0;
    Rank rank = 0;
    uint64_t own = 0;
};

// --------------------------------------------------------------------------------------- actions

// To all nodes of a server job: what happens next to its model.
struct ServerOrder {
    std::vector<NodeId> nodes;  // addressees
    JobId job = 0;
    uint64_t generation = 0;
    std::vector<ServerEntry> entries;
};

// To all nodes of a server job: the checkpoint at this position is whole, so that older ones are of no use, or it failed.
struct CheckpointEnded {
    struct Answer {
        Rank rank = 0;
        uint64_t own = 0;
    };
    std::vector<NodeId> nodes;  // addressees
    JobId job = 0;
    uint64_t generation = 0;
    uint64_t position = 0;
    std::string failure;          // empty: none
    std::vector<Answer> answers;  // who has asked for it
};

}  // namespace pace::controller
