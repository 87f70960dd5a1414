// JobOptions: what this worker asks its job to be. Zero means default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <protocol/client_generated.h>

#include "base/result.h"

namespace pace::client {

// What stands for an alpha that nobody has set. Whoever asks a user for one refuses it from him.
inline constexpr double kAlphaNotGiven = -1;

struct JobOptions {
    std::string name;    // letters, digits, '.', '_', '-'; at most 63
    uint32_t world = 0;  // at least 1
    protocol::client::Policy policy = protocol::client::Policy::partial_reduce;
    uint32_t group_size = 0;
    uint32_t group_min = 0;
    protocol::client::Weights weights = protocol::client::Weights::constant;
    protocol::client::Missing missing = protocol::client::Missing::closest;
    double alpha = kAlphaNotGiven;  // 0 <= alpha < 1
    uint32_t group_wait_ms = 0;
    uint32_t history_window = 0;
    uint32_t worker_timeout_ms = 0;
    protocol::client::Quorum quorum = protocol::client::Quorum::all;
    uint32_t quorum_count = 0;
    protocol::client::Late late = protocol::client::Late::accumulate;
    uint32_t staleness_max = 0;
    protocol::client::DivideBy divide_by = protocol::client::DivideBy::world;
    uint32_t resync_every = 0;
    protocol::client::Compression compression = protocol::client::Compression::off;
    double density = 0;
    protocol::client::Residuals residuals = protocol::client::Residuals::global;
    uint32_t teams = 0;
    protocol::client::TeamGather team_gather = protocol::client::TeamGather::automatic;
    protocol::client::Indices indices = protocol::client::Indices::compressed;
    protocol::client::Values values = protocol::client::Values::f32;
    protocol::client::Hierarchy hierarchy = protocol::client::Hierarchy::node;
    protocol::client::DenseFallback dense_fallback = protocol::client::DenseFallback::automatic;
    bool reject_nonfinite = false;
    uint32_t progress_gap = 0;
    std::vector<uint32_t> edges;  // pairs of ranks; of ad_psgd; empty: all are neighbours
    uint64_t elements = 0;        // of a server job's model
    protocol::client::Rate rate = protocol::client::Rate::none;
    double constant_rate = 0;
    double filter = 0;  // below 0: off
    uint32_t shards = 0;
    uint32_t checkpoint_every_ms = 0;
    uint32_t checkpoint_copies = 0;
    bool restore = false;
    bool unsynchronized = false;
};

// Whether only the largest elements of gradients travel, so that the rest is owed.
constexpr bool is_top_k(protocol::client::Compression compression) {
    return compression >= protocol::client::Compression::spardl;
}

// Refuses what no daemon would take: each message names the field. Whether the options make sense
// together is the controller's to say.
base::Result<> check(const JobOptions& options);

flatbuffers::Offset<protocol::client::JobOptions> pack(flatbuffers::FlatBufferBuilder& builder,
                                                       const JobOptions& options);

}  // namespace pace::client
