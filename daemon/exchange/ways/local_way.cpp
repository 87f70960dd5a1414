#include "daemon/exchange/ways/local_way.h"

#include <utility>

namespace pace::daemon {

using base::Result;
using base::Task;

Task<Result<>> LocalWay::move() {
    const Result<> came = co_await running_.contents_on_host();
    if (!came || running_.plan.is_made()) co_return came;
    co_return co_await running_.members_ready();
}

Task<Result<>> LocalWay::commit() {
    co_await running_.free_to_write();
    const ExchangePlan& plan = running_.plan;
    const bool nothing_to_do = plan.layout.bytes() == 0 || running_.recipients.empty();
    if (nothing_to_do) co_return Result<>();
    tell_writing(plan.marks);
    kernels::WorkerPool& pool = running_.services.pool;
    const bool copies = plan.kind == ExchangePlan::Kind::broadcast;
    if (plan.bytes_touched() <= running_.services.options.inline_bytes_max) {
        if (copies)
            collectives::copy_among_members(running_.part, running_.recipients, pool);
        else
            collectives::sum_into_members(running_.part, plan.scale, running_.recipients, pool);
        co_return Result<>();
    }
    co_await running_.in_pieces([this, &plan, &pool, copies](collectives::Notice notice) {
        if (copies)
            collectives::copy_among_members(running_.part, running_.recipients, pool,
                                            std::move(notice));
        else
            collectives::sum_into_members(running_.part, plan.scale, running_.recipients, pool,
                                          std::move(notice));
    });
    co_return Result<>();
}

}  // namespace pace::daemon
