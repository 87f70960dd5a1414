#include "service/controller/core/serving/server_options.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

// A view change carries every worker's clock in one message.
constexpr uint32_t kServerWorldMax = 16384;

Result<> check_model(const JobOptions& o) {
    if (o.elements == 0)
        return make_error(ErrorKind::invalid,
                          "server.elements is not given; give the number of elements of the model");
    if (o.shards > o.elements)
        return make_error(ErrorKind::invalid,
                          "server.shards is {}, but the model has {} elements; use at most one for "
                          "each, or leave it out for one on each node",
                          o.shards, o.elements);
    if (o.world > kServerWorldMax)
        return make_error(ErrorKind::invalid,
                          "world is {}; a parameter server takes at most {} workers", o.world,
                          kServerWorldMax);
    return {};
}

}  // namespace

Result<> settle_server(JobOptions& options) {
    PACE_TRY(check_model(options));
    if (options.rate == Rate::constant && options.constant_rate == 0)
        options.constant_rate = 1.0 / options.world;
    return {};
}

ServerOptions server_options_of(const JobOptions& options) {
    ServerOptions server;
    server.rate = options.rate;
    server.constant = options.constant_rate;
    if (options.policy == Policy::bsp) server.staleness = 0;
    if (options.policy == Policy::ssp) server.staleness = options.staleness;
    return server;
}

}  // namespace pace::controller
