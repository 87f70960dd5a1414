#include "daemon/exchange/ways/kernel_way.h"

#include <algorithm>

namespace pace::daemon {

using base::Result;
using base::Task;

Result<const pace_device_plugin_table*> kernels_of(const Running& running) {
    return running.services.gpus->kernels(running.plan.on_device.front().contents->lane->device());
}

bool KernelWay::may_sum() const {
    const ExchangePlan& plan = running_.plan;
    const bool all = plan.on_device.size() == plan.contributions.size() &&
                     plan.on_device.size() == std::max<size_t>(plan.recipients.size(), 1);
    if (!all || !plan.is_made() || running_.services.gpus == nullptr || !plan.copy_to.empty() ||
        !why_not_on_device(plan.on_device, plan.layout).empty())
        return false;
    return plan.recipients.empty() || kernels_of(running_).ok();
}

Task<Result<>> KernelWay::commit() {
    const ExchangePlan& plan = running_.plan;
    if (plan.recipients.empty()) {  // alone: there is nothing to compute
        for (const DeviceMember& member : plan.on_device) member.contents->made = true;
        co_return Result<>();
    }
    tell_writing(plan.marks);
    const auto summed =
        sum_on_device(**kernels_of(running_), plan.on_device, plan.layout, plan.scale);
    if (summed) ++running_.services.counters.sums_on_device;
    co_return summed;
}

}  // namespace pace::daemon
