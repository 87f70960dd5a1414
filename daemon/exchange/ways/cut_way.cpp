#include "daemon/exchange/ways/cut_way.h"

#include <utility>

#include "base/log/daemon_events.h"
#include "daemon/exchange/ways/gpu_scratch.h"
#include "daemon/exchange/ways/hosts_way.h"
#include "daemon/exchange/ways/kernel_way.h"

namespace pace::daemon {

using base::Result;
using base::Task;
using sparse::Residual;

namespace {

// For fewer, copies to the host and back take no longer than the kernels' launches. A guess.
constexpr size_t kCutElementsMin = size_t{64} << 10U;

}  // namespace

bool CutWay::may_cut() const {
    const ExchangePlan& plan = running_.plan;
    if (residual().count() < kCutElementsMin ||
        !sparse::runs_elsewhere(plan.top_k->options.algorithm))
        return false;
    // The residual is one more input of the kernel.
    return plan.is_all_on_gpus() && plan.on_device.size() < PACE_DEVICE_MEMBERS_MAX &&
           running_.services.gpus != nullptr &&
           why_not_on_device(plan.on_device, plan.layout).empty() && kernels_of(running_).ok() &&
           !residual().stays_here();
}

Residual& CutWay::residual() const {
    return running_.plan.top_k->participants.front().state->residual();
}

Task<Result<bool>> CutWay::is_open() {
    if (!running_.sparse || running_.sparse->is_flat()) co_return false;
    if (!may_cut()) {
        co_await bring_back();
        co_return false;
    }
    const Result<> placed = co_await place();
    if (placed) co_return true;
    base::log_event(base::events::kTopKOnHost,
                    {{"job", running_.services.job_name(running_.plan.job)},
                     {"reason", placed.error().message}});
    residual().keep_here();
    gradient_.reset();
    co_await bring_back();
    co_return false;
}

Task<Result<>> CutWay::place() {
    const ExchangePlan& plan = running_.plan;
    device::Device& gpu = plan.on_device.front().contents->lane->device();
    const size_t count = residual().count();
    const size_t chosen_max = sparse::top_count(count, plan.top_k->options.density) + 1;
    // Nothing else moves a residual off the host.
    gradient_ = std::static_pointer_cast<DeviceGradient>(residual().far());
    if (gradient_ && !gradient_->fits(gpu, count, chosen_max)) {
        gradient_.reset();
        co_await bring_back();
    }
    if (!gradient_) {
        const auto table = kernels_of(running_);
        if (!table) co_return table.error();
        auto made = DeviceGradient::create(gpu, **table, count, chosen_max);
        if (!made) co_return made.error();
        gradient_ = std::move(*made);
        Result<> allocated;
        co_await running_.in_pool([&] { allocated = gradient_->allocate(residual().values()); });
        if (!allocated) co_return allocated;
        residual().move_to(gradient_);
    }
    const auto result = co_await gpu_scratch(running_, gpu, plan.layout.bytes());
    if (!result) co_return result.error();
    result_ = *result;
    co_return gradient_->begin(plan.on_device, plan.layout, result_);
}

Task<> CutWay::bring_back() {
    Residual& here = residual();
    if (!here.far()) co_return;
    sparse::Floats values(here.count());
    co_await running_.in_pool([&] { read_owed(here, values.span()); });
    here.move_here(std::move(values));
}

Task<Result<>> CutWay::move() {
    return move_by_hosts(running_, nullptr);
}

Task<Result<>> CutWay::commit() {
    const ExchangePlan& plan = running_.plan;
    ++running_.services.counters.top_k_on_device;
    tell_writing(plan.marks);
    const Result<> committed = give_on_device(plan.on_device, plan.layout, *result_);
    if (!committed) {
        residual().keep_here();
        const DeviceLane& lane = *plan.on_device.front().contents->lane;
        lane.when_done({}, [memory = result_](const Result<>&) {});  // which may still be read
    }
    co_return committed;
}

// The members' buffers are not needed any more. A GPU that has failed is not asked again.
void CutWay::end() {
    if (!gradient_) return;
    gradient_->end();
    if (gradient_->status()) return;
    base::log_event(base::events::kTopKLeftDevice,
                    {{"job", running_.services.job_name(running_.plan.job)},
                     {"reason", gradient_->status().error().message}});
    residual().keep_here();
}

std::unique_ptr<DeviceResult> CutWay::take_result() {
    return std::make_unique<DeviceResult>(running_.plan.on_device.front().contents->lane,
                                          std::move(result_), running_.plan.layout);
}

}  // namespace pace::daemon
