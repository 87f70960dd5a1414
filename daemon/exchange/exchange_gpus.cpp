// Exchange: members whose buffers are on GPUs. Where possible, the buffers stay there.
#include <algorithm>

#include "daemon/exchange/exchange.h"

namespace pace::daemon {

using base::Result;
using base::Task;

namespace {

// For less, copies to the host and back take no longer than the messages by which the nodes agree
// on the way. A guess.
constexpr size_t kGpuSumBytesMin = size_t{256} << 10U;
constexpr double kGpuSumRateMin = 20e6;  // bytes per second
// For less, pieces do not help.
constexpr size_t kFlowBytesMin = size_t{4} << 20U;

}  // namespace

// For members of this node on one GPU.
bool Exchange::may_sum_where_they_are() const {
    const bool all = plan_.on_device.size() == plan_.contributions.size() &&
                     plan_.on_device.size() == std::max<size_t>(plan_.recipients.size(), 1);
    if (!all || !is_local() || !is_made() || services_.gpus == nullptr || !plan_.copy_to.empty() ||
        !why_not_on_device(plan_.on_device, plan_.layout).empty())
        return false;
    return plan_.recipients.empty() || kernels().ok();
}

Result<const pace_device_plugin_table*> Exchange::kernels() const {
    return services_.gpus->kernels(plan_.on_device.front().contents->lane->device());
}

// The result is queued when this returns, and there is nothing else to wait for.
void Exchange::sum_where_they_are() {
    if (plan_.recipients.empty()) {  // alone: there is nothing to compute
        for (const DeviceMember& member : plan_.on_device) member.contents->made = true;
        finish({});
        return;
    }
    tell_writing(plan_.marks);
    const auto summed = sum_on_device(**kernels(), plan_.on_device, plan_.layout, plan_.scale);
    if (summed) {
        ++services_.counters.sums_on_device;
        finish({});
        return;
    }
    contents_lost_ = true;
    services_.loop.defer(base::keep(self_, [summed](Exchange& own) { own.finish(summed); }));
}

void Exchange::bring_to_host(std::function<void(const Result<>&)> then) {
    when_came_ = std::move(then);
    coming_ = 1;  // this function
    for (const DeviceMember& member : plan_.on_device) {
        if (member.contents->on_host) continue;
        ++coming_;
        member.contents->bring([this, keep = self_](const Result<>& result) {
            if (!result && came_) came_ = result;
            contents_came();
        });
    }
    contents_came();
}

void Exchange::contents_came() {
    if (--coming_ != 0) return;
    if (!came_) contents_lost_ = !abort_;
    if (abort_ && came_) came_ = *abort_;
    const auto then = std::move(when_came_);
    then(came_);
}

void Exchange::begin_on_host() {
    bring_to_host([this](const Result<>& came) {
        if (came) return begin();
        services_.loop.defer(base::keep(self_, [came](Exchange& own) { own.finish(came); }));
    });
}

Task<Result<>> Exchange::contents_on_host() {
    bool ended = false;
    Result<> result;
    bring_to_host([this, &ended, &result](const Result<>& came) {
        ended = true;
        result = came;
        came_changed_.notify();
    });
    co_await until(ended);
    co_return result;
}

// Waits for something that only this node knows of.
Task<> Exchange::until(const bool& ended) {
    busy_here_ = true;
    while (!ended) co_await came_changed_.changed();
    busy_here_ = false;
    busy_until_ = base::now();
}

// ----------------------------------------------------------------------- copied while it travels

bool Exchange::is_on_gpu(const collectives::Recipient& recipient) const {
    const auto is_twin = [&recipient](const DeviceMember& member) {
        return memory_of(member.contents->buffers) == recipient.segments;
    };
    return std::any_of(plan_.on_device.begin(), plan_.on_device.end(), is_twin);
}

// A sum that all_reduce makes as it is.
bool Exchange::is_plain_sum() const {
    return plan_.kind == Kind::reduce && !plan_.top_k && !plan_.half && !plan_.progress;
}

// For members that both give and get.
bool Exchange::may_flow() const {
    if (plan_.on_device.empty() || !is_plain_sum() || plan_.layout.bytes() < kFlowBytesMin)
        return false;
    const auto on_host = [](const DeviceMember& member) { return member.contents->on_host; };
    if (std::any_of(plan_.on_device.begin(), plan_.on_device.end(), on_host)) return false;
    const auto getting =
        std::count_if(recipients_.begin(), recipients_.end(),
                      [this](const auto& recipient) { return is_on_gpu(recipient); });
    return static_cast<size_t>(getting) == plan_.on_device.size();
}

// False: the contents must be brought to the host first, and the result is copied from the twins.
Task<bool> Exchange::flow() {
    if (!may_flow()) co_return false;
    const Result<> pinned = co_await pin_scratch();
    if (!pinned || abort_) co_return false;
    auto places = flow_places();
    if (!places) co_return false;
    std::erase_if(recipients_, [this](const auto& recipient) { return is_on_gpu(recipient); });
    tell_writing(plan_.marks);
    flow_ = std::make_shared<DeviceFlow>(plan_.on_device, std::move(*places), plan_.layout,
                                         result_.data(),
                                         [this](const base::Error& error) { abort(error); });
    co_return true;
}

// Memory on each GPU for the result.
Result<std::vector<DeviceFlow::Place>> Exchange::flow_places() const {
    std::vector<DeviceFlow::Place> places;
    for (const DeviceMember& member : plan_.on_device) {
        device::Device& gpu = member.contents->lane->device();
        const auto is_there = [&gpu](const auto& place) { return &place.lane->device() == &gpu; };
        if (std::any_of(places.begin(), places.end(), is_there)) continue;
        PACE_TRY_ASSIGN(memory, services_.gpu_groups->scratch(gpu, plan_.layout.bytes()));
        places.push_back({member.contents->lane, memory});
    }
    return places;
}

// The first time, this takes as long as the kernel needs to find the memory.
Task<Result<>> Exchange::pin_scratch() {
    if (scratch_.is_pinned()) co_return Result<>();
    Result<> pinned;
    device::Device& gpu = plan_.on_device.front().contents->lane->device();
    co_await in_pool([&] { pinned = scratch_.pin(gpu); });
    co_return pinned;
}

// For work that would block the loop.
Task<> Exchange::in_pool(std::function<void()> work) {
    return aside(SIZE_MAX, std::move(work));
}

// In the pool if the work touches enough bytes to block the loop; else at once.
Task<> Exchange::aside(size_t bytes, std::function<void()> work) {
    bool ended = false;
    bool had_memory = false;
    services_.aside().run(
        bytes, [&had_memory, &work] { had_memory = base::attempt(work); },
        base::keep(self_, [&ended](Exchange& own) {
            ended = true;
            own.came_changed_.notify();
        }));
    co_await until(ended);
    if (!had_memory) throw std::bad_alloc();  // the exchange ends with this
}

// ------------------------------------------------------------------------------ from GPU to GPU

// The same answer on all nodes of the exchange, if there are others.
bool Exchange::may_go_among_gpus() const {
    const uint32_t own = services_.options.nccl;
    if (own == 0 || !is_plain_sum() || plan_.layout.bytes() < kGpuSumBytesMin) return false;
    if (plan_.nodes.size() <= 1) return !plan_.on_device.empty() && !plan_.recipients.empty();
    return plan_.nccl.size() == plan_.nodes.size() &&
           std::all_of(plan_.nccl.begin(), plan_.nccl.end(),
                       [own](uint32_t version) { return version == own; });
}

// All members' inputs and results are on GPUs.
bool Exchange::all_on_gpus() const {
    return plan_.on_device.size() == plan_.contributions.size() &&
           plan_.on_device.size() == plan_.recipients.size();
}

void Exchange::prepare_gpus() {
    if (all_on_gpus() && may_go_among_gpus())
        gpu_sum_ = GpuSum::prepare(services_, plan_.on_device, plan_.layout);
}

// A sum among several GPUs of this node alone. False: it is not made this way, or not yet.
bool Exchange::go_among_gpus_here() {
    if (!gpu_sum_ || !is_local()) return false;
    if (!gpu_sum_->meet({gpu_sum_->card({services_.self}, 0)})) {
        gpu_sum_.reset();
        return false;
    }
    services_.active.add(self_);
    base::spawn<Result<>>(gpu_sum_->run(plan_.scale),
                          [this](const Result<>& result) { summed_here(result); });
    return true;
}

// After a failure nothing is lost that the host could not sum.
void Exchange::summed_here(const Result<>& result) {
    services_.active.remove(this);
    if (result) return commit_on_gpus();
    services_.loop.defer(base::keep(self_, [](Exchange& own) {
        own.gpu_sum_.reset();
        own.begin_on_host();
    }));
}

// Agrees with the other nodes whether the sum goes from GPU to GPU.
Task<Result<bool>> Exchange::meet_gpus() {
    const GpuCard mine = gpu_sum_ ? gpu_sum_->card(plan_.nodes, plan_.self) : GpuSum::unable();
    const Result<std::vector<GpuCard>> cards = co_await exchange_cards(*communicator_, mine);
    if (!cards) co_return cards.error();
    co_return gpu_sum_ && gpu_sum_->meet(*cards);
}

void Exchange::commit_on_gpus() {
    ++services_.counters.sums_among_gpus;
    tell_writing(plan_.marks);
    const Result<> committed = gpu_sum_->commit();
    contents_lost_ = !committed;
    finish(committed);
}

// NCCL does not report progress; it counts as stuck below a rate that every link exceeds.
base::Duration Exchange::stalled_on_gpus(base::TimePoint now) const {
    const base::Duration running = now - gpu_sum_->running_since();
    const auto due = std::chrono::duration_cast<base::Duration>(
        std::chrono::duration<double>(static_cast<double>(plan_.layout.bytes()) / kGpuSumRateMin));
    return running > due ? running - due : base::Duration::zero();
}

std::unique_ptr<DeviceResult> Exchange::take_device_result() {
    if (gpu_sum_) return gpu_sum_->take_result();
    if (!cut_) return nullptr;
    return std::make_unique<DeviceResult>(plan_.on_device.front().contents->lane,
                                          std::move(cut_result_), plan_.layout);
}

}  // namespace pace::daemon
