#include "daemon/exchange/ways/hosts_way.h"

#include <utility>
#include <vector>

#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/half_all_reduce.h"
#include "daemon/collectives/messages/barrier.h"
#include "daemon/collectives/messages/broadcast.h"
#include "daemon/collectives/messages/transfer.h"
#include "daemon/collectives/piecewise.h"

namespace pace::daemon {

using base::Result;
using base::Task;

namespace {

// The root sends without receiving. The barrier beside the broadcast keeps the root from going on
// before all nodes have begun the same broadcast.
Task<Result<>> broadcast_by_hosts(Running& running) {
    collectives::BroadcastOptions options = running.services.options.broadcast;
    options.source = [&running](collectives::ByteRange range, std::byte* out) {
        running.part.copy(range, out);
    };
    collectives::Communicator& nodes = *running.communicator;
    std::vector<Task<Result<>>> both;
    both.push_back(collectives::broadcast(nodes, running.plan.root, running.result, options));
    both.push_back(collectives::barrier(nodes));
    co_await base::when_all(std::move(both));
    co_return nodes.status();
}

Task<Result<>> reduce_by_hosts(Running& running, collectives::Flow* flow) {
    const ExchangePlan& plan = running.plan;
    const ExchangeOptions& settings = running.services.options;
    collectives::Communicator& nodes = *running.communicator;
    collectives::AllReduceOptions options = settings.all_reduce;
    options.flow = flow;
    if (running.sparse)
        co_return co_await running.sparse->run(nodes, running.part, plan.scale, running.result);
    if (plan.progress)
        co_return co_await collectives::all_reduce_piecewise(nodes, running.part, plan.scale,
                                                             running.result, options,
                                                             settings.piece_bytes, *plan.progress);
    if (plan.half)
        co_return co_await collectives::half_all_reduce(
            nodes, running.part, plan.scale, running.result, options, *plan.half,
            [&running](size_t bytes, auto work) { return running.aside(bytes, std::move(work)); });
    co_return co_await collectives::all_reduce(nodes, running.part, plan.scale, running.result,
                                               options);
}

}  // namespace

Task<Result<>> move_by_hosts(Running& running, collectives::Flow* flow) {
    const ExchangePlan& plan = running.plan;
    switch (plan.kind) {
        case ExchangePlan::Kind::barrier:
            return collectives::barrier(*running.communicator);
        case ExchangePlan::Kind::broadcast:
            return broadcast_by_hosts(running);
        case ExchangePlan::Kind::fetch:
            return collectives::transfer_from(*running.communicator, plan.root, running.result,
                                              running.services.options.transfer);
        case ExchangePlan::Kind::reduce:
            break;
    }
    return reduce_by_hosts(running, flow);
}

Task<Result<>> HostsWay::move() {
    const Result<> came = co_await running_.contents_on_host();
    if (!came) running_.communicator->abort(came.error());
    if (!came) co_return came;
    co_return co_await move_by_hosts(running_, nullptr);
}

}  // namespace pace::daemon
