// Exchange: top-k reductions whose gradient is cut on the GPU that has its members' buffers.
#include <functional>

#include "base/daemon_events.h"
#include "daemon/exchange/exchange.h"

namespace pace::daemon {

using base::Result;
using base::Task;
using sparse::Residual;

namespace {

// For fewer, copies to the host and back take no longer than the kernels' launches. A guess.
constexpr size_t kCutElementsMin = size_t{64} << 10U;

}  // namespace

// This node decides alone: other nodes get the same entries either way.
bool Exchange::may_cut_on_gpu() const {
    if (residual_here().count() < kCutElementsMin ||
        !sparse::runs_elsewhere(plan_.top_k->options.algorithm))
        return false;
    // The residual is one more input of the kernel.
    return all_on_gpus() && plan_.on_device.size() < PACE_DEVICE_MEMBERS_MAX &&
           services_.gpus != nullptr && why_not_on_device(plan_.on_device, plan_.layout).empty() &&
           kernels().ok() && !residual_here().stays_here();
}

Residual& Exchange::residual_here() const {
    return plan_.top_k->participants.front().state->residual();
}

// True: the gradient is cut on the GPU. Otherwise the residual is on the host now.
Task<bool> Exchange::place_gradient() {
    if (sparse_->is_flat()) co_return false;
    Residual& residual = residual_here();
    if (!may_cut_on_gpu()) {
        co_await bring_back(residual);
        co_return false;
    }
    const Result<> placed = co_await place_gradient_on_gpu(residual);
    if (placed) co_return true;
    base::log_event(base::events::kTopKOnHost,
                    {{"job", services_.job_name(plan_.job)}, {"reason", placed.error().message}});
    residual.keep_here();
    cut_.reset();
    co_await bring_back(residual);
    co_return false;
}

Task<Result<>> Exchange::place_gradient_on_gpu(Residual& residual) {
    device::Device& gpu = plan_.on_device.front().contents->lane->device();
    const size_t chosen_max = sparse::top_count(residual.count(), plan_.top_k->options.density) + 1;
    // Nothing else moves a residual off the host.
    cut_ = std::static_pointer_cast<DeviceGradient>(residual.far());
    if (cut_ && !cut_->fits(gpu, residual.count(), chosen_max)) {
        cut_.reset();
        co_await bring_back(residual);
    }
    if (!cut_) {
        const auto table = kernels();
        if (!table) co_return table.error();
        auto made = DeviceGradient::create(gpu, **table, residual.count(), chosen_max);
        if (!made) co_return made.error();
        cut_ = std::move(*made);
        Result<> allocated;
        co_await in_pool([&] { allocated = cut_->allocate(residual.values()); });
        if (!allocated) co_return allocated;
        residual.move_to(cut_);
    }
    cut_result_ = services_.gpu_groups->spare_scratch(gpu, plan_.layout.bytes());
    if (!cut_result_) {
        Result<device::DeviceMemory> made = base::make_error(base::ErrorKind::internal, "");
        co_await in_pool([&] { made = device::DeviceMemory::create(gpu, plan_.layout.bytes()); });
        if (!made) co_return made.error();
        cut_result_ = services_.gpu_groups->keep_scratch(std::move(*made));
    }
    co_return cut_->begin(plan_.on_device, plan_.layout, cut_result_);
}

Task<> Exchange::bring_back(Residual& residual) {
    if (!residual.far()) co_return;
    sparse::Floats values(residual.count());
    co_await in_pool([&] { read_owed(residual, values.span()); });
    residual.move_here(std::move(values));
}

void Exchange::commit_cut() {
    ++services_.counters.top_k_on_device;
    tell_writing(plan_.marks);
    const Result<> committed = give_on_device(plan_.on_device, plan_.layout, *cut_result_);
    contents_lost_ = !committed;
    if (!committed) {
        residual_here().keep_here();
        const DeviceLane& lane = *plan_.on_device.front().contents->lane;
        lane.when_done({}, [memory = cut_result_](const Result<>&) {});  // which may still be read
    }
    finish(committed);
}

// The members' buffers are not needed any more. A GPU that has failed is not asked again.
void Exchange::end_cut() {
    cut_->end();
    if (cut_->status()) return;
    base::log_event(base::events::kTopKLeftDevice, {{"job", services_.job_name(plan_.job)},
                                                    {"reason", cut_->status().error().message}});
    residual_here().keep_here();
}

}  // namespace pace::daemon
