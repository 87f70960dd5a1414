#include "service/controller/core/server_options.h"

#include <cmath>

#include "service/controller/core/option_checks.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

constexpr uint32_t kStalenessDefault = 3;
constexpr double kFilterDefault = 1e-6;
constexpr uint64_t kElementsMax = uint64_t{1} << 40U;
constexpr uint32_t kShardsMax = 4096;
constexpr uint32_t kCopiesMax = 2;
// A view change carries every worker's clock in one message.
constexpr uint32_t kServerWorldMax = 16384;

Result<> check_no_server_options(const JobOptions& o) {
    Unwanted unwanted(
        "but it is of a parameter server, and the job's policy is another one; leave it out or use "
        "policy bsp, ssp or asp");
    return unwanted.number("elements", o.elements)
        .choice("rate", o.rate, Rate{})
        .number("constant_rate", o.constant_rate)
        .number("filter", o.filter)
        .number("shards", o.shards)
        .number("checkpoint_every_ms", o.checkpoint_every_ms)
        .number("checkpoint_copies", o.checkpoint_copies)
        .number("restore", o.restore ? 1 : 0)
        .number("unsynchronized", o.unsynchronized ? 1 : 0)
        .result();
}

Result<> check_model(const JobOptions& o) {
    if (o.elements == 0 || o.elements > kElementsMax)
        return make_error(ErrorKind::invalid,
                          "elements is {}; give the number of elements of the model, 1 to {}",
                          o.elements, kElementsMax);
    if (o.shards > kShardsMax)
        return make_error(ErrorKind::invalid,
                          "shards is {}; use at most {}, or 0 for one on each node", o.shards,
                          kShardsMax);
    if (o.shards > o.elements)
        return make_error(ErrorKind::invalid,
                          "shards is {}, but the model has {} elements; use at most one for each, "
                          "or 0 for one on each node",
                          o.shards, o.elements);
    if (o.world > kServerWorldMax)
        return make_error(ErrorKind::invalid,
                          "world is {}; a parameter server takes at most {} workers", o.world,
                          kServerWorldMax);
    return {};
}

Result<> check_rate(const JobOptions& o) {
    PACE_TRY(check_choice("rate", o.rate));
    if (o.rate != Rate::constant && o.constant_rate != 0)
        return make_error(ErrorKind::invalid,
                          "constant_rate is {}, which counts with rate constant only; leave it out "
                          "or use rate constant",
                          o.constant_rate);
    // Written so that NaN is refused too.
    if (!(o.constant_rate >= 0 && o.constant_rate <= 1))
        return make_error(ErrorKind::invalid,
                          "constant_rate is {}; use a number above 0 and at most 1, or 0 for "
                          "1/world",
                          o.constant_rate);
    return {};
}

Result<> check_checkpoints(const JobOptions& o) {
    if (o.checkpoint_copies <= kCopiesMax) return {};
    return make_error(ErrorKind::invalid,
                      "checkpoint_copies is {}; use 1, the disk of a shard's own node alone, or 2, "
                      "another node's too, or 0 for 2",
                      o.checkpoint_copies);
}

Result<> check_staleness(const JobOptions& o) {
    if (o.policy == Policy::ssp || o.staleness_max == 0) return {};
    return make_error(ErrorKind::invalid,
                      "staleness_max is {}, but policy {} has a bound of its own; leave it out or "
                      "use policy ssp",
                      o.staleness_max, name_of(o.policy));
}

}  // namespace

Result<> check_server(const JobOptions& options) {
    if (family_of(options.policy) != Family::server) return check_no_server_options(options);
    PACE_TRY(check_model(options));
    PACE_TRY(check_rate(options));
    PACE_TRY(check_staleness(options));
    PACE_TRY(check_checkpoints(options));
    if (!std::isfinite(options.filter))
        return make_error(ErrorKind::invalid,
                          "filter is {}; use a magnitude, 0 for the default, or less to send all",
                          options.filter);
    return {};
}

void fill_server_defaults(JobOptions& o) {
    if (family_of(o.policy) != Family::server) return;
    fill(o.rate, Rate::dynamic);
    if (o.rate == Rate::constant && o.constant_rate == 0) o.constant_rate = 1.0 / o.world;
    if (o.filter == 0) o.filter = kFilterDefault;
    if (o.checkpoint_copies == 0) o.checkpoint_copies = kCopiesMax;
    if (o.policy == Policy::ssp && o.staleness_max == 0) o.staleness_max = kStalenessDefault;
}

ServerOptions server_options_of(const JobOptions& options) {
    ServerOptions server;
    server.rate = options.rate;
    server.constant = options.constant_rate;
    if (options.policy == Policy::bsp) server.staleness = 0;
    if (options.policy == Policy::ssp) server.staleness = options.staleness_max;
    return server;
}

}  // namespace pace::controller
