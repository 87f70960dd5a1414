#include "daemon/exchange/ways/nccl_way.h"

#include <algorithm>
#include <utility>

#include "daemon/exchange/ways/gpu_scratch.h"

namespace pace::daemon {

using base::Result;
using base::Task;

namespace {

// For less, copies to the host and back take no longer than the messages by which the nodes agree
// on the way. A guess.
constexpr size_t kGpuSumBytesMin = size_t{256} << 10U;
// NCCL does not report progress. It counts as stuck below this rate, which every link exceeds.
constexpr double kGpuSumRateMin = 20e6;  // bytes per second

}  // namespace

// The same answer on all nodes of the exchange, if there are others.
bool NcclWay::may_go() const {
    const ExchangePlan& plan = running_.plan;
    const uint32_t own = running_.services.options.nccl;
    if (own == 0 || !plan.is_plain_sum() || plan.layout.bytes() < kGpuSumBytesMin) return false;
    if (plan.nodes.size() <= 1) return !plan.on_device.empty() && !plan.recipients.empty();
    return plan.nccl.size() == plan.nodes.size() &&
           std::all_of(plan.nccl.begin(), plan.nccl.end(),
                       [own](uint32_t version) { return version == own; });
}

Task<Result<bool>> NcclWay::is_open() {
    if (!may_go()) co_return false;
    if (running_.plan.is_all_on_gpus())
        sum_ = GpuSum::prepare(running_.services, running_.plan.on_device, running_.plan.layout);
    const Result<bool> met = co_await meet();
    if (!met || !*met) sum_.reset();  // other sums may use the GPUs
    co_return met;
}

// NCCL opens a port for an id, and the driver finds memory, which takes both long.
Task<GpuCard> NcclWay::card() {
    const ExchangePlan& plan = running_.plan;
    GpuGroups& groups = running_.services.gpu_groups;
    if (plan.is_local())
        sum_->place({running_.services.self}, 0);
    else
        sum_->place(plan.nodes, plan.self);
    if (groups.wants_id(sum_->place())) {
        Result<device::GroupId> id = base::make_error(base::ErrorKind::internal, "");
        co_await running_.in_pool([&id] { id = device::make_group_id(); });
        groups.keep_id(sum_->place(), id);
    }
    GpuCard card = sum_->card();
    if (card.known.empty()) co_return card;
    const Result<> taken = co_await take_scratch();
    if (taken) co_return card;
    groups.refuse(sum_->place(), taken.error());
    co_return GpuSum::unable();
}

Task<Result<>> NcclWay::take_scratch() {
    std::vector<std::shared_ptr<device::DeviceMemory>> scratch;
    for (device::Device* const gpu : sum_->place().gpus) {
        auto memory = co_await gpu_scratch(running_, *gpu, sum_->scratch_bytes());
        if (!memory) co_return memory.error();
        scratch.push_back(std::move(*memory));
    }
    sum_->take_scratch(std::move(scratch));
    co_return Result<>();
}

// Agrees with the other nodes whether the sum goes this way.
Task<Result<bool>> NcclWay::meet() {
    // GCC 12 awaits in both branches of a conditional expression.
    GpuCard mine = GpuSum::unable();
    if (sum_) mine = co_await card();
    if (running_.plan.is_local()) co_return sum_ && sum_->meet({mine});
    const Result<std::vector<GpuCard>> cards =
        co_await exchange_cards(*running_.communicator, mine);
    if (!cards) co_return cards.error();
    co_return sum_ && sum_->meet(*cards);
}

Task<Result<>> NcclWay::move() {
    co_return co_await sum_->run(running_.plan.scale);
}

bool NcclWay::gives_way() {
    if (!running_.plan.is_local()) return false;
    sum_.reset();
    return true;
}

Task<Result<>> NcclWay::commit() {
    ++running_.services.counters.sums_among_gpus;
    tell_writing(running_.plan.marks);
    co_return sum_->commit();
}

void NcclWay::end() {
    if (sum_) sum_->release();
}

void NcclWay::abort(const base::Error& error) {
    if (sum_) sum_->abort(error);
}

std::optional<base::TimePoint> NcclWay::silent_since() const {
    if (!sum_ || sum_->running_since() == base::TimePoint{}) return std::nullopt;
    return sum_->running_since();
}

base::Duration NcclWay::overdue(base::TimePoint now) const {
    const base::Duration running = now - sum_->running_since();
    const auto due = std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(
        static_cast<double>(running_.plan.layout.bytes()) / kGpuSumRateMin));
    return running > due ? running - due : base::Duration::zero();
}

std::unique_ptr<DeviceResult> NcclWay::take_result() {
    return sum_ ? sum_->take_result() : nullptr;
}

}  // namespace pace::daemon
