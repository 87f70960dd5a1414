#include "capi/options.h"

#include <chrono>
#include <cstdlib>

#include "protocol/types.h"

namespace pace::capi {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;
using protocol::JobOptions;

namespace {

// The values of a public enum are those of protocol/options/choices.h; 0 is the default.
static_assert(PACE_POLICY_ALL_REDUCE == static_cast<int>(protocol::Policy::all_reduce));
static_assert(PACE_POLICY_PARTIAL_REDUCE == static_cast<int>(protocol::Policy::partial_reduce));
static_assert(PACE_POLICY_PRAGUE_RANDOM == static_cast<int>(protocol::Policy::prague_random));
static_assert(PACE_POLICY_PRAGUE_SMART == static_cast<int>(protocol::Policy::prague_smart));
static_assert(PACE_POLICY_AD_PSGD == static_cast<int>(protocol::Policy::ad_psgd));
static_assert(PACE_POLICY_FULL == static_cast<int>(protocol::Policy::full));
static_assert(PACE_POLICY_PRAGUE_STATIC == static_cast<int>(protocol::Policy::prague_static));
static_assert(PACE_POLICY_AUTO == static_cast<int>(protocol::Policy::automatic));
static_assert(PACE_POLICY_BSP == static_cast<int>(protocol::Policy::bsp));
static_assert(PACE_POLICY_SSP == static_cast<int>(protocol::Policy::ssp));
static_assert(PACE_POLICY_ASP == static_cast<int>(protocol::Policy::asp));
static_assert(PACE_RATE_SUM == static_cast<int>(protocol::Rate::sum));
static_assert(PACE_RATE_CONSTANT == static_cast<int>(protocol::Rate::constant));
static_assert(PACE_RATE_DYNAMIC == static_cast<int>(protocol::Rate::dynamic));
static_assert(PACE_WEIGHTS_CONSTANT == static_cast<int>(protocol::Weights::constant));
static_assert(PACE_WEIGHTS_DYNAMIC == static_cast<int>(protocol::Weights::dynamic));
static_assert(PACE_MISSING_CLOSEST == static_cast<int>(protocol::Missing::closest));
static_assert(PACE_MISSING_INITIAL == static_cast<int>(protocol::Missing::initial));
static_assert(PACE_QUORUM_ALL == static_cast<int>(protocol::Quorum::all));
static_assert(PACE_QUORUM_SOLO == static_cast<int>(protocol::Quorum::solo));
static_assert(PACE_QUORUM_MAJORITY == static_cast<int>(protocol::Quorum::majority));
static_assert(PACE_QUORUM_MAJORITY_STRICT == static_cast<int>(protocol::Quorum::majority_strict));
static_assert(PACE_QUORUM_COUNT == static_cast<int>(protocol::Quorum::count));
static_assert(PACE_LATE_ACCUMULATE == static_cast<int>(protocol::Late::accumulate));
static_assert(PACE_LATE_DROP == static_cast<int>(protocol::Late::drop));
static_assert(PACE_DIVIDE_BY_WORLD == static_cast<int>(protocol::DivideBy::world));
static_assert(PACE_DIVIDE_BY_CONTRIBUTORS == static_cast<int>(protocol::DivideBy::contributors));
static_assert(PACE_COMPRESSION_NONE == static_cast<int>(protocol::Compression::off));
static_assert(PACE_COMPRESSION_F16 == static_cast<int>(protocol::Compression::f16));
static_assert(PACE_COMPRESSION_BF16 == static_cast<int>(protocol::Compression::bf16));
static_assert(PACE_COMPRESSION_SPARDL == static_cast<int>(protocol::Compression::spardl));
static_assert(PACE_COMPRESSION_TOPKA == static_cast<int>(protocol::Compression::topka));
static_assert(PACE_COMPRESSION_TOPKDSA == static_cast<int>(protocol::Compression::topkdsa));
static_assert(PACE_COMPRESSION_GTOPK == static_cast<int>(protocol::Compression::gtopk));
static_assert(PACE_COMPRESSION_OKTOPK == static_cast<int>(protocol::Compression::oktopk));
static_assert(PACE_RESIDUALS_GLOBAL == static_cast<int>(protocol::Residuals::global));
static_assert(PACE_RESIDUALS_PARTIAL == static_cast<int>(protocol::Residuals::partial));
static_assert(PACE_RESIDUALS_LOCAL == static_cast<int>(protocol::Residuals::local));
static_assert(PACE_TEAM_GATHER_AUTOMATIC == static_cast<int>(protocol::TeamGather::automatic));
static_assert(PACE_TEAM_GATHER_RECURSIVE == static_cast<int>(protocol::TeamGather::recursive));
static_assert(PACE_TEAM_GATHER_BRUCK == static_cast<int>(protocol::TeamGather::bruck));
static_assert(PACE_INDICES_PLAIN == static_cast<int>(protocol::Indices::plain));
static_assert(PACE_INDICES_COMPRESSED == static_cast<int>(protocol::Indices::compressed));
static_assert(PACE_VALUES_F32 == static_cast<int>(protocol::Values::f32));
static_assert(PACE_VALUES_F16 == static_cast<int>(protocol::Values::f16));
static_assert(PACE_VALUES_BF16 == static_cast<int>(protocol::Values::bf16));
static_assert(PACE_HIERARCHY_NODE == static_cast<int>(protocol::Hierarchy::node));
static_assert(PACE_HIERARCHY_FLAT == static_cast<int>(protocol::Hierarchy::flat));
static_assert(PACE_DENSE_FALLBACK_AUTOMATIC ==
              static_cast<int>(protocol::DenseFallback::automatic));
static_assert(PACE_DENSE_FALLBACK_NEVER == static_cast<int>(protocol::DenseFallback::never));

// Longer waits are waits without limit; adding them to the clock would overflow.
constexpr int64_t kLongestMs = int64_t{1000} * 3600 * 24 * 365;

// 0 leaves the default.
template <typename Choice>
Result<> read_choice(int32_t value, std::string_view name, std::string_view choices,
                     Choice& ret_choice) {
    if (value < 0 || value > static_cast<int32_t>(protocol::words_of(Choice{}).size()))
        return make_error(ErrorKind::invalid, "{} is {}; use one of {}", name, value, choices);
    if (value != 0) ret_choice = static_cast<Choice>(value);
    return {};
}

Result<> read_alpha(const pace_job_options& options, JobOptions& ret_job) {
    if (options.has_alpha > 1)
        return make_error(ErrorKind::invalid, "has_alpha is {}; it is 1 if alpha is set, else 0",
                          options.has_alpha);
    // Somebody who sets alpha and forgets has_alpha would train with another one unawares.
    if (options.has_alpha == 0 && options.alpha != 0.0)
        return make_error(ErrorKind::invalid, "alpha is {} but has_alpha is 0; set has_alpha = 1",
                          options.alpha);
    if (options.has_alpha == 1) ret_job.alpha = options.alpha;
    return {};
}

Result<> read_filter(const pace_job_options& options, JobOptions& ret_job) {
    if (options.has_filter > 1)
        return make_error(ErrorKind::invalid, "has_filter is {}; it is 1 if filter is set, else 0",
                          options.has_filter);
    if (options.has_filter == 0 && options.filter != 0.0)
        return make_error(ErrorKind::invalid,
                          "filter is {} but has_filter is 0; set has_filter = 1", options.filter);
    if (options.has_filter == 1) ret_job.filter = options.filter;
    return {};
}

// 0 leaves the default.
template <typename Given, typename Field>
void read_number(Given given, Field& ret_field) {
    if (given != Given{}) ret_field = given;
}

Result<> read_flag(uint32_t given, const char* name, bool& ret_flag) {
    if (given > 1) return make_error(ErrorKind::invalid, "{} is {}; use 0 or 1", name, given);
    ret_flag = given == 1;
    return {};
}

Result<> read_server(const pace_job_options& options, JobOptions& ret_job) {
    PACE_TRY(read_choice(options.rate, "rate",
                         "PACE_RATE_SUM, PACE_RATE_CONSTANT, PACE_RATE_DYNAMIC", ret_job.rate));
    PACE_TRY(read_filter(options, ret_job));
    ret_job.elements = options.elements;
    ret_job.constant_rate = options.constant_rate;
    ret_job.shards = options.shards;
    ret_job.checkpoint_every_ms = options.checkpoint_every_ms;
    read_number(options.checkpoint_copies, ret_job.checkpoint_copies);
    PACE_TRY(read_flag(options.restore, "restore", ret_job.restore));
    PACE_TRY(read_flag(options.unsynchronized, "unsynchronized", ret_job.unsynchronized));
    return {};
}

Result<> read_edges(const pace_job_options& options, JobOptions& ret_job) {
    if (options.edges == nullptr && options.edge_count != 0)
        return make_error(ErrorKind::invalid,
                          "edge_count is {} but edges is NULL; give both or neither",
                          options.edge_count);
    if (options.edge_count > protocol::kEdgesMax)
        return make_error(ErrorKind::invalid, "edge_count is {}; give at most {} edges",
                          options.edge_count, protocol::kEdgesMax);
    if (options.edges != nullptr && options.edge_count == 0)
        return make_error(ErrorKind::invalid,
                          "edges is given but edge_count is 0; a graph without edges connects "
                          "nobody: leave both out, or say how many there are");
    if (options.edges == nullptr) return {};
    ret_job.edges.assign(options.edges, options.edges + size_t{options.edge_count} * 2);
    return {};
}

Result<> read_collective(const pace_job_options& options, JobOptions& ret_job) {
    PACE_TRY(read_choice(options.quorum, "quorum",
                         "PACE_QUORUM_ALL, PACE_QUORUM_SOLO, PACE_QUORUM_MAJORITY, "
                         "PACE_QUORUM_MAJORITY_STRICT, PACE_QUORUM_COUNT",
                         ret_job.quorum));
    PACE_TRY(
        read_choice(options.late, "late", "PACE_LATE_ACCUMULATE, PACE_LATE_DROP", ret_job.late));
    PACE_TRY(read_choice(options.divide_by, "divide_by",
                         "PACE_DIVIDE_BY_WORLD, PACE_DIVIDE_BY_CONTRIBUTORS", ret_job.divide_by));
    PACE_TRY(
        read_choice(options.compression, "compression",
                    "PACE_COMPRESSION_NONE, PACE_COMPRESSION_F16, PACE_COMPRESSION_BF16, "
                    "PACE_COMPRESSION_SPARDL, PACE_COMPRESSION_TOPKA, PACE_COMPRESSION_TOPKDSA, "
                    "PACE_COMPRESSION_GTOPK, PACE_COMPRESSION_OKTOPK",
                    ret_job.compression));
    PACE_TRY(read_choice(options.residuals, "residuals",
                         "PACE_RESIDUALS_GLOBAL, PACE_RESIDUALS_PARTIAL, PACE_RESIDUALS_LOCAL",
                         ret_job.residuals));
    PACE_TRY(read_choice(
        options.team_gather, "team_gather",
        "PACE_TEAM_GATHER_AUTOMATIC, PACE_TEAM_GATHER_RECURSIVE, PACE_TEAM_GATHER_BRUCK",
        ret_job.team_gather));
    PACE_TRY(read_choice(options.indices, "indices", "PACE_INDICES_PLAIN, PACE_INDICES_COMPRESSED",
                         ret_job.indices));
    PACE_TRY(read_choice(options.values, "values",
                         "PACE_VALUES_F32, PACE_VALUES_F16, PACE_VALUES_BF16", ret_job.values));
    PACE_TRY(read_choice(options.hierarchy, "hierarchy", "PACE_HIERARCHY_NODE, PACE_HIERARCHY_FLAT",
                         ret_job.hierarchy));
    PACE_TRY(read_choice(options.dense_fallback, "dense_fallback",
                         "PACE_DENSE_FALLBACK_AUTOMATIC, PACE_DENSE_FALLBACK_NEVER",
                         ret_job.dense_fallback));
    ret_job.quorum_count = options.quorum_count;
    // One field of two families.
    read_number(options.staleness_max, family_of(ret_job.policy) == protocol::Family::server
                                           ? ret_job.staleness
                                           : ret_job.staleness_max);
    ret_job.resync_every = options.resync_every;
    read_number(options.density, ret_job.density);
    ret_job.teams = options.teams;
    PACE_TRY(read_flag(options.reject_nonfinite, "reject_nonfinite", ret_job.reject_nonfinite));
    return {};
}

}  // namespace

Result<TimePoint> deadline_of(int64_t timeout_ms) {
    if (timeout_ms == PACE_FOREVER || timeout_ms > kLongestMs) return TimePoint::max();
    if (timeout_ms < 0)
        return make_error(ErrorKind::invalid,
                          "timeout_ms is {}; give milliseconds, 0 to look once, or PACE_FOREVER",
                          timeout_ms);
    return base::now() + std::chrono::milliseconds(timeout_ms);
}

Result<> check_size(uint32_t struct_size, StructName name) {
    if (struct_size >= sizeof(struct_size) && struct_size <= kStructSizeMax) return {};
    return make_error(ErrorKind::invalid, "{}->struct_size is {}; initialise the struct with {}",
                      name.argument, struct_size, name.init);
}

Result<> check_tail(const void* given, uint32_t struct_size, size_t known, StructName name) {
    PACE_TRY(check_size(struct_size, name));
    const auto* bytes = static_cast<const unsigned char*>(given);
    for (size_t i = known; i < struct_size; ++i) {
        if (bytes[i] != 0)
            return make_error(ErrorKind::invalid,
                              "{} has a field at byte {} that this library ({}.{}.{}) does not "
                              "know; leave it zero, or update libpace",
                              name.argument, i, PACE_VERSION_MAJOR, PACE_VERSION_MINOR,
                              PACE_VERSION_PATCH);
    }
    return {};
}

Result<> check_reserved(uint32_t reserved, std::string_view name) {
    if (reserved == 0) return {};
    return make_error(ErrorKind::invalid, "{} is {}; leave it zero", name, reserved);
}

Result<bool> is_interruptible(const pace_job_options& options) {
    bool interruptible = false;
    PACE_TRY(read_flag(options.interruptible, "interruptible", interruptible));
    return interruptible;
}

Result<client::RunIdentity> run_of(const pace_job_options& options) {
    bool resume = false;
    PACE_TRY(read_flag(options.resume, "resume", resume));
    return client::run_identity(options.run_id, resume,
                                [](const char* name) { return std::getenv(name); });
}

Result<protocol::AskedOptions> job_options_of(const pace_job_options& options) {
    if (options.name == nullptr)
        return make_error(ErrorKind::invalid,
                          "name is NULL; give the job a name that all of its workers use");
    PACE_TRY(check_reserved(options.reserved, "reserved"));
    JobOptions job;
    PACE_TRY(read_alpha(options, job));
    // Bounded: a name without its terminating zero must not be read to the end of the heap.
    job.name.assign(options.name, strnlen(options.name, protocol::kNameBytesMax + 1));
    job.world = options.world;
    PACE_TRY(read_choice(options.policy, "policy",
                         "PACE_POLICY_ALL_REDUCE, PACE_POLICY_PARTIAL_REDUCE, "
                         "PACE_POLICY_PRAGUE_RANDOM, PACE_POLICY_PRAGUE_SMART, "
                         "PACE_POLICY_AD_PSGD, PACE_POLICY_FULL, PACE_POLICY_PRAGUE_STATIC, "
                         "PACE_POLICY_AUTO, PACE_POLICY_BSP, PACE_POLICY_SSP, PACE_POLICY_ASP",
                         job.policy));
    PACE_TRY(read_choice(options.weights, "weights", "PACE_WEIGHTS_CONSTANT, PACE_WEIGHTS_DYNAMIC",
                         job.weights));
    PACE_TRY(read_choice(options.missing, "missing", "PACE_MISSING_CLOSEST, PACE_MISSING_INITIAL",
                         job.missing));
    job.group_size = options.group_size;
    read_number(options.group_min, job.group_min);
    job.group_wait_ms = options.group_wait_ms;
    job.history_window = options.history_window;
    read_number(options.progress_gap, job.progress_gap);
    job.worker_timeout_ms = options.worker_timeout_ms;
    PACE_TRY(read_edges(options, job));
    PACE_TRY(read_collective(options, job));
    PACE_TRY(read_server(options, job));
    protocol::AskedOptions asked(job);
    // Given, though it is what it would be otherwise.
    if (options.has_alpha == 1 && job.alpha == JobOptions{}.alpha)
        asked.values.push_back({"average.alpha", job.alpha});
    PACE_TRY(client::known_job(asked));
    return asked;
}

}  // namespace pace::capi
