// What the daemon and the controller say to each other about a server job's model; the rest is in messages.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/control/ids.h"

namespace pace::daemon::control {

enum class ServerStep : uint8_t {
    assign = 1,
    push = 2,
    pull = 3,
    join = 4,
    leave = 5,
    checkpoint = 6
};

struct ServerLedger {
    struct Worker {
        Rank rank = 0;
        uint64_t clock = 0;
        uint64_t version = 0;
        uint64_t prefetched = 0;
        bool operator==(const Worker&) const = default;
    };
    struct Version {
        uint64_t version = 0;
        uint64_t updates = 0;
        bool operator==(const Version&) const = default;
    };
    uint64_t position = 0;
    uint64_t fastest = 0;
    uint64_t pushes = 0;
    std::vector<Worker> workers;
    std::vector<Version> versions;
    bool operator==(const ServerLedger&) const = default;
};

struct ServerEntry {
    uint64_t position = 0;
    ServerStep step = ServerStep::push;
    uint64_t clock = 0;
    uint64_t version = 0;
    double rate = 0;
    std::vector<uint64_t> expired;
    uint64_t slowest = 0;
    ServerLedger::Worker worker;
    uint64_t first = 0;  // of a pull: elements [first, first + count)
    uint64_t count = 0;
    bool operator==(const ServerEntry&) const = default;
};

// Shards of one checkpoint that are on this node's disk.
struct SavedModel {
    uint64_t token = 0;
    uint64_t generation = 0;
    uint32_t shards = 0;
    std::vector<uint32_t> there;
    ServerLedger ledger;
    bool operator==(const SavedModel&) const = default;
};

struct ServerReport {
    uint64_t generation = 0;
    std::vector<NodeId> places;  // by shard
    std::vector<uint32_t> shards;
    ServerLedger ledger;
    std::vector<ServerEntry> tail;
    std::vector<SavedModel> saved;
    bool model_lost = false;  // and nothing has been assigned since
    bool operator==(const ServerReport&) const = default;
};

// ---- daemon to controller

struct ServerStored {
    JobId job = 0;
    uint64_t generation = 0;
    Rank rank = 0;
    uint64_t clock = 0;
};

struct ServerAsked {
    JobId job = 0;
    uint64_t generation = 0;
    Rank rank = 0;
    uint64_t clock = 0;
    uint64_t own = 0;
    uint64_t first = 0;  // elements of the model, that are asked for
    uint64_t count = 0;
};

struct ServerAssigned {
    JobId job = 0;
    uint64_t generation = 0;
    uint64_t round = 0;
};

struct ServerSaved {
    JobId job = 0;
    uint64_t generation = 0;
    uint64_t position = 0;
    uint32_t shard = 0;
    std::string failure;  // empty: none
};

struct CheckpointAsked {
    JobId job = 0;
    uint64_t generation = 0;
    Rank rank = 0;
    uint64_t own = 0;
};

// ---- controller to daemon

struct ServerOrder {
    JobId job = 0;
    uint64_t generation = 0;
    std::vector<ServerEntry> entries;
};

struct CheckpointEnded {
    struct Answer {
        Rank rank = 0;
        uint64_t own = 0;
    };
    JobId job = 0;
    uint64_t generation = 0;
    uint64_t position = 0;
    std::string failure;  // empty: none
    std::vector<Answer> answers;
};

}  // namespace pace::daemon::control
