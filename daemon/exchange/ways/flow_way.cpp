#include "daemon/exchange/ways/flow_way.h"

#include <algorithm>
#include <utility>

#include "daemon/exchange/ways/gpu_scratch.h"
#include "daemon/exchange/ways/hosts_way.h"

namespace pace::daemon {

using base::Result;
using base::Task;

namespace {

// For less, pieces do not help.
constexpr size_t kFlowBytesMin = size_t{4} << 20U;

}  // namespace

bool FlowWay::is_on_gpu(const collectives::Recipient& recipient) const {
    const std::vector<DeviceMember>& members = running_.plan.on_device;
    return std::any_of(members.begin(), members.end(), [&recipient](const DeviceMember& member) {
        return memory_of(member.contents->buffers) == recipient.segments;
    });
}

// For members that both give and get.
bool FlowWay::may_flow() const {
    const ExchangePlan& plan = running_.plan;
    if (plan.on_device.empty() || !plan.is_plain_sum() || plan.layout.bytes() < kFlowBytesMin)
        return false;
    const auto on_host = [](const DeviceMember& member) { return member.contents->on_host; };
    if (std::any_of(plan.on_device.begin(), plan.on_device.end(), on_host)) return false;
    const auto getting =
        std::count_if(running_.recipients.begin(), running_.recipients.end(),
                      [this](const auto& recipient) { return is_on_gpu(recipient); });
    return static_cast<size_t>(getting) == plan.on_device.size();
}

Task<Result<bool>> FlowWay::is_open() {
    if (!may_flow()) co_return false;
    const Result<> there = co_await running_.twins_there();
    if (!there || running_.is_aborted()) co_return false;
    const Result<> pinned = co_await pin_scratch();
    if (!pinned || running_.is_aborted()) co_return false;
    auto memory = co_await places();
    if (!memory || running_.is_aborted()) co_return false;
    std::erase_if(running_.recipients,
                  [this](const auto& recipient) { return is_on_gpu(recipient); });
    tell_writing(running_.plan.marks);
    flow_ = std::make_shared<DeviceFlow>(running_.plan.on_device, std::move(*memory),
                                         running_.plan.layout, running_.result.data(),
                                         [this](const base::Error& error) {
                                             const auto keep = running_.shared_from_this();
                                             const auto flow = flow_;  // the exchange may end here
                                             keep->abort(error);
                                             flow->wake();
                                         });
    co_return true;
}

// The first time, this takes as long as the kernel needs to find the memory.
Task<Result<>> FlowWay::pin_scratch() {
    if (running_.scratch.is_pinned()) co_return Result<>();
    Result<> pinned;
    device::Device& gpu = running_.plan.on_device.front().contents->lane->device();
    co_await running_.in_pool([&] { pinned = running_.scratch.pin(gpu); });
    co_return pinned;
}

// Memory on each GPU for the result.
Task<Result<std::vector<DeviceFlow::Place>>> FlowWay::places() {
    std::vector<DeviceFlow::Place> places;
    for (const DeviceMember& member : running_.plan.on_device) {
        device::Device& gpu = member.contents->lane->device();
        const auto is_there = [&gpu](const auto& place) { return &place.lane->device() == &gpu; };
        if (std::any_of(places.begin(), places.end(), is_there)) continue;
        auto memory = co_await gpu_scratch(running_, gpu, running_.plan.layout.bytes());
        if (!memory) co_return memory.error();
        places.push_back({member.contents->lane, std::move(*memory)});
    }
    co_return places;
}

Task<Result<>> FlowWay::move() {
    return move_by_hosts(running_, flow_.get());
}

Task<Result<>> FlowWay::settle(Result<> moved) {
    const Result<> settled = co_await flow_->settle(moved);
    running_.contents_lost = flow_->lost();
    if (settled) ++running_.services.counters.sums_in_pieces;
    co_return settled;
}

void FlowWay::wake() {
    if (!flow_) return;
    const auto flow = flow_;  // outlives the exchange, which may end here
    flow->wake();
}

}  // namespace pace::daemon
