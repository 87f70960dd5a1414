#include "capi/options.h"

#include "protocol/types.h"

namespace pace::capi {

using base::ErrorKind;
using base::make_error;
using base::Result;
namespace wire = protocol::client;

namespace {

// The values of a public enum are those on the wire (client.fbs); 0 is `fallback`.
static_assert(PACE_POLICY_ALL_REDUCE == static_cast<int>(wire::Policy::all_reduce));
static_assert(PACE_POLICY_PARTIAL_REDUCE == static_cast<int>(wire::Policy::partial_reduce));
static_assert(PACE_WEIGHTS_CONSTANT == static_cast<int>(wire::Weights::constant));
static_assert(PACE_WEIGHTS_DYNAMIC == static_cast<int>(wire::Weights::dynamic));
static_assert(PACE_MISSING_CLOSEST == static_cast<int>(wire::Missing::closest));
static_assert(PACE_MISSING_INITIAL == static_cast<int>(wire::Missing::initial));

template <typename Wire>
Result<Wire> enum_of(int32_t value, Wire fallback, std::string_view name,
                     std::string_view choices) {
    if (value == 0) return fallback;
    if (value < 0 || value > static_cast<int32_t>(Wire::MAX))
        return make_error(ErrorKind::invalid, "{} is {}; use one of {}", name, value, choices);
    return static_cast<Wire>(value);
}

constexpr double kDefaultAlpha = 0.5;

Result<double> alpha_of(const pace_job_options& options) {
    if (options.has_alpha > 1)
        return make_error(ErrorKind::invalid, "has_alpha is {}; it is 1 if alpha is set, else 0",
                          options.has_alpha);
    if (options.has_alpha == 1) return options.alpha;
    // Somebody who sets alpha and forgets has_alpha would train with another one unawares.
    if (options.alpha != 0.0)
        return make_error(ErrorKind::invalid, "alpha is {} but has_alpha is 0; set has_alpha = 1",
                          options.alpha);
    return kDefaultAlpha;
}

}  // namespace

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

Result<client::JobOptions> job_options_of(const pace_job_options& options) {
    if (options.name == nullptr)
        return make_error(ErrorKind::invalid,
                          "name is NULL; give the job a name that all of its workers use");
    PACE_TRY_ASSIGN(policy, enum_of(options.policy, wire::Policy::partial_reduce, "policy",
                                    "PACE_POLICY_ALL_REDUCE, PACE_POLICY_PARTIAL_REDUCE"));
    PACE_TRY_ASSIGN(weights, enum_of(options.weights, wire::Weights::constant, "weights",
                                     "PACE_WEIGHTS_CONSTANT, PACE_WEIGHTS_DYNAMIC"));
    PACE_TRY_ASSIGN(missing, enum_of(options.missing, wire::Missing::closest, "missing",
                                     "PACE_MISSING_CLOSEST, PACE_MISSING_INITIAL"));
    PACE_TRY_ASSIGN(alpha, alpha_of(options));
    PACE_TRY(check_reserved(options.reserved, "reserved"));
    client::JobOptions job;
    // Bounded: a name without its terminating zero must not be read to the end of the heap.
    job.name.assign(options.name, strnlen(options.name, protocol::kNameBytesMax + 1));
    job.world = options.world;
    job.policy = policy;
    job.group_size = options.group_size;
    job.group_min = options.group_min;
    job.weights = weights;
    job.missing = missing;
    job.alpha = alpha;
    job.group_wait_ms = options.group_wait_ms;
    job.history_window = options.history_window;
    job.worker_timeout_ms = options.worker_timeout_ms;
    PACE_TRY(client::check(job));
    return job;
}

}  // namespace pace::capi
