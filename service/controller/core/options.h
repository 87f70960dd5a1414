// JobOptions: what a job is asked to be, and the choices that its options are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pace::controller {

enum class Family : uint8_t { collective = 1, averaging = 2, server = 3 };
enum class Policy : uint8_t {
    all_reduce = 1,
    partial_reduce = 2,
    prague_random = 3,
    prague_smart = 4,
    ad_psgd = 5,
    full = 6,
    prague_static = 7,
    automatic = 8,
    bsp = 9,
    ssp = 10,
    asp = 11
};
enum class Weights : uint8_t { constant = 1, dynamic = 2 };
enum class Missing : uint8_t { closest = 1, initial = 2 };
enum class Quorum : uint8_t { all = 1, solo = 2, majority = 3, majority_strict = 4, count = 5 };
enum class Late : uint8_t { accumulate = 1, drop = 2 };
enum class DivideBy : uint8_t { world = 1, contributors = 2 };
enum class Compression : uint8_t {
    off = 1,
    f16 = 2,
    bf16 = 3,
    spardl = 4,
    topka = 5,
    topkdsa = 6,
    gtopk = 7,
    oktopk = 8
};
enum class Residuals : uint8_t { global = 1, partial = 2, local = 3 };
enum class TeamGather : uint8_t { automatic = 1, recursive = 2, bruck = 3 };
enum class Indices : uint8_t { plain = 1, compressed = 2 };
enum class Values : uint8_t { f32 = 1, f16 = 2, bf16 = 3 };
enum class Hierarchy : uint8_t { node = 1, flat = 2 };
enum class DenseFallback : uint8_t { automatic = 1, never = 2 };
enum class Rate : uint8_t { sum = 1, constant = 2, dynamic = 3 };

// As on the wire: nobody has set alpha.
inline constexpr double kAlphaNotGiven = -1;

// A job's options as a whole. Zero (or 0.0, or an empty enum) means default where a default is
// named.
struct JobOptions {
    std::string name;                        // letters, digits, '.', '_', '-'; at most 63
    uint32_t world = 0;                      // workers of the job, at least 1
    Policy policy = Policy::partial_reduce;  // all_reduce is of the collective family
    uint32_t group_size =
        0;  // P; 2 .. world; default min(3, world); not of prague_static, automatic
    uint32_t group_min = 0;  // smallest group that group_wait may close; partial_reduce; default 2
    Weights weights = Weights::constant;
    Missing missing = Missing::closest;
    double alpha = kAlphaNotGiven;  // 0 <= alpha < 1; of dynamic weights only; default 0.5
    uint32_t group_wait_ms = 0;     // 0: adaptive
    uint32_t history_window = 0;    // T; 0: twice ceil((N-1)/(P-1))
    uint32_t worker_timeout_ms =
        0;  // a worker later than this is suspended; 0: adaptive, at least 30 s

    // Of the collective family. A field that the others leave without meaning stays zero.
    Quorum quorum = Quorum::all;
    uint32_t quorum_count = 0;  // with Quorum::count only
    Late late = Late::accumulate;
    uint32_t staleness_max =
        0;  // rounds; with another quorum than all; default 32. With ssp: steps; default 3
    DivideBy divide_by = DivideBy::world;
    uint32_t resync_every = 0;  // rounds; 0: never
    Compression compression = Compression::off;
    double density = 0;  // 0 < density <= 1; with top-k only; default 0.01
    Residuals residuals = Residuals::global;
    uint32_t teams = 0;  // with SparDL only; 0: chosen from measured links
    TeamGather team_gather = TeamGather::automatic;
    Indices indices = Indices::compressed;
    Values values = Values::f32;
    Hierarchy hierarchy = Hierarchy::node;
    DenseFallback dense_fallback = DenseFallback::automatic;
    bool reject_nonfinite = false;

    uint32_t progress_gap = 0;  // signals; with prague_smart only; default 4
    std::vector<uint32_t>
        edges;  // of the communication graph, pairs of ranks; with ad_psgd only; empty: all are neighbours

    // Of the server family.
    uint64_t elements = 0;     // of the model
    Rate rate = Rate{};        // default dynamic
    double constant_rate = 0;  // with Rate::constant only; default 1/world
    double filter = 0;         // smaller elements of updates wait; default 1e-6; below 0: off
    uint32_t shards = 0;       // 0: one for each node of the first view
    uint32_t checkpoint_every_ms = 0;  // 0: only when asked
    uint32_t checkpoint_copies = 0;    // nodes that keep each part of one; default 2
    bool restore = false;              // begin with the newest checkpoint, if there is one
    bool unsynchronized = false;  // a pull may see some shards before an update and others after it
    bool operator==(const JobOptions&) const = default;
};

// Whether rounds go on without workers that are late.
constexpr bool is_partial(const JobOptions& options) {
    return options.quorum != Quorum{} && options.quorum != Quorum::all;
}

// Whether less than the gradients as they are travels.
constexpr bool is_compressed(Compression compression) {
    return compression > Compression::off;
}

// Whether only the largest elements of the gradients travel.
constexpr bool is_top_k(Compression compression) {
    return compression >= Compression::spardl;
}

constexpr Family family_of(Policy policy) {
    if (policy >= Policy::bsp) return Family::server;
    return policy == Policy::all_reduce ? Family::collective : Family::averaging;
}

// Whether the controller forms the groups that workers average in.
constexpr bool forms_groups(Policy policy) {
    return family_of(policy) == Family::averaging && policy != Policy::prague_static;
}

}  // namespace pace::controller
