#include "daemon/gpu/gpu_sum.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::Task;
using collectives::Segment;
using protocol::DType;

namespace {

// A sum that ran this long before it was given up was stuck itself. A guess.
constexpr base::Duration kStuckAfter = std::chrono::seconds(1);

bool is_half(DType dtype) {
    return protocol::size_of(dtype) == 2;
}

}  // namespace

// ------------------------------------------------------------------------------------ the result

DeviceResult::~DeviceResult() {
    lane_->when_done({}, [memory = std::move(memory_), lane = lane_](const Result<>&) {});
}

void DeviceResult::bring(std::span<std::byte> to,
                         std::function<void(const Result<>&)> landed) const {
    const base::cuda::CudaDriver& driver = lane_->device().driver();
    Result<> queued;
    {
        const auto scope = lane_->device().enter();
        queued = driver.check(
            driver.copy_to_host(to.data(), memory_->address(), layout_.bytes(), lane_->stream()),
            "copy a result from a GPU");
    }
    lane_->when_done({}, [queued, memory = memory_, to, layout = layout_,
                          landed = std::move(landed)](const Result<>& ended) {
        layout.zero_padding({0, layout.bytes()}, to.data());
        landed(queued ? ended : queued);
    });
}

// --------------------------------------------------------------------------------- before the sum

GpuSum::GpuSum(Services& services, collectives::Layout layout)
    : services_(services), layout_(std::move(layout)), scratch_bytes_(layout_.bytes()) {
    for (const Segment& segment : layout_.segments()) {
        wide_.push_back(scratch_bytes_);
        if (is_half(segment.dtype))
            scratch_bytes_ += device::round_up(segment.count * sizeof(float), 256);
    }
}

std::shared_ptr<GpuSum> GpuSum::prepare(Services& services, std::vector<DeviceMember> members,
                                        const collectives::Layout& layout) {
    if (services.gpus == nullptr || members.empty()) return nullptr;
    for (const Segment& segment : layout.segments())
        if (segment.dtype == DType::u32) return nullptr;
    std::shared_ptr<GpuSum> sum(new GpuSum(services, layout));
    for (DeviceMember& member : members) {
        if (member.contents->on_host) return nullptr;
        sum->share_of(member).members.push_back(std::move(member));
    }
    // The scratch is an output of the kernel, too.
    for (const Share& share : sum->shares_)
        if (share.members.size() >= PACE_DEVICE_MEMBERS_MAX) return nullptr;
    for (Share& share : sum->shares_) {
        device::Device& gpu = share.lane().device();
        const auto kernels = services.gpus->kernels(gpu);
        if (!kernels) return nullptr;
        share.kernels = *kernels;
        sum->place_.gpus.push_back(&gpu);
    }
    sum->turn_ = services.gpu_groups.take_turn(sum->place_.gpus);
    return sum->turn_ ? sum : nullptr;
}

GpuSum::~GpuSum() {
    if (!queued_) return;
    for (const Share& share : shares_)
        share.lane().when_done(
            {}, [memory = share.scratch, members = share.members](const Result<>&) {});
}

GpuSum::Share& GpuSum::share_of(const DeviceMember& member) {
    for (Share& share : shares_)
        if (&share.lane().device() == &member.contents->lane->device()) return share;
    return shares_.emplace_back();
}

void GpuSum::place(const std::vector<NodeId>& nodes, size_t self) {
    place_.nodes = nodes;
    place_.self = self;
}

void GpuSum::take_scratch(std::vector<std::shared_ptr<device::DeviceMemory>> scratch) {
    for (size_t i = 0; i < shares_.size(); ++i) shares_[i].scratch = std::move(scratch[i]);
}

bool GpuSum::meet(const std::vector<GpuCard>& cards) {
    communicator_ = services_.gpu_groups.meet(place_, cards);
    return communicator_ != nullptr;
}

// --------------------------------------------------------------------------------------- the sum

std::byte* GpuSum::at(const Share& share, size_t offset) const {
    return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(share.scratch->address())) + offset;
}

std::byte* GpuSum::wide_at(const Share& share, size_t segment) const {
    return at(share, wide_[segment]);
}

// Where NCCL sums a segment, and as which type: halves as f32.
std::byte* GpuSum::sums_at(const Share& share, size_t segment) const {
    return is_half(layout_.segments()[segment].dtype) ? wide_at(share, segment)
                                                      : at(share, layout_.offset(segment));
}

DType GpuSum::sum_dtype(size_t segment) const {
    const DType dtype = layout_.segments()[segment].dtype;
    return is_half(dtype) ? DType::f32 : dtype;
}

// Queues the weighted sum of the GPU's members, rounded once. Sums of halves are then widened.
Result<> GpuSum::queue_partials(const Share& share) const {
    const DeviceLane& lane = share.lane();
    for (size_t i = 1; i < share.members.size(); ++i)
        PACE_TRY(lane.follow(*share.members[i].contents->lane));
    std::vector<SegmentSum> sums = segment_sums(share.members, layout_);
    for (size_t s = 0; s < sums.size(); ++s) sums[s].outputs = {at(share, layout_.offset(s))};
    PACE_TRY(queue_segment_sums(*share.kernels, lane, weights_of(share.members), 1.0, sums, "sum"));
    const auto scope = lane.device().enter();
    for (size_t s = 0; s < layout_.segments().size(); ++s) {
        const Segment& segment = layout_.segments()[s];
        if (!is_half(segment.dtype)) continue;
        const auto widen = conversion(segment.dtype, DType::f32, segment.count,
                                      at(share, layout_.offset(s)), wide_at(share, s));
        PACE_TRY(check_kernel(*share.kernels, lane.device(),
                              share.kernels->convert(&widen, lane.stream()), "convert"));
    }
    return {};
}

// Scales the sums in the scratch, where halves become halves again.
Result<> GpuSum::queue_scaled(const Share& share, double scale) const {
    const DeviceLane& lane = share.lane();
    std::vector<SegmentSum> sums;
    for (size_t s = 0; s < layout_.segments().size(); ++s)
        sums.push_back({sum_dtype(s), layout_.segments()[s].count, {sums_at(share, s)}, {}});
    PACE_TRY(queue_segment_sums(*share.kernels, lane, {1.0}, scale, sums, "scale"));
    const auto scope = lane.device().enter();
    for (size_t s = 0; s < layout_.segments().size(); ++s) {
        const Segment& segment = layout_.segments()[s];
        if (!is_half(segment.dtype)) continue;
        const auto narrow = conversion(DType::f32, segment.dtype, segment.count, sums_at(share, s),
                                       at(share, layout_.offset(s)));
        PACE_TRY(check_kernel(*share.kernels, lane.device(),
                              share.kernels->convert(&narrow, lane.stream()), "convert"));
    }
    return {};
}

std::vector<device::GpuCommunicator::Share> GpuSum::shares_for_nccl() const {
    std::vector<device::GpuCommunicator::Share> all;
    for (const Share& share : shares_) {
        auto& told = all.emplace_back();
        told.stream = share.lane().stream();
        for (size_t s = 0; s < layout_.segments().size(); ++s) {
            const Segment& segment = layout_.segments()[s];
            if (segment.count == 0) continue;
            told.segments.push_back(
                {sums_at(share, s), segment.count, static_cast<pace_device_dtype>(sum_dtype(s))});
        }
    }
    return all;
}

Task<Result<>> GpuSum::sum_among_gpus() {
    std::optional<Result<>> ended;
    const base::TimePoint began = base::now();
    running_since_ = began;
    communicator_->sum(shares_for_nccl(), [&ended, keep = shared_from_this()](const Result<>& got) {
        ended = got;
        keep->changed_.notify();
    });
    while (!ended) co_await changed_.changed();
    running_since_ = {};
    if (*ended) co_return *ended;
    services_.gpu_groups.drop(communicator_);
    // A sum that is given up because a node died ends sooner.
    if (!abort_ || base::now() - began > kStuckAfter)
        services_.gpu_groups.refuse(place_, ended->error());
    co_return *ended;
}

// A kernel has failed on one of this node's GPUs.
Result<> GpuSum::failed(const Result<>& result) {
    services_.gpu_groups.refuse(place_, result.error());
    return result;
}

Result<> GpuSum::queue_all_partials() {
    queued_ = true;
    for (const Share& share : shares_)
        if (const Result<> queued = queue_partials(share); !queued) return failed(queued);
    return {};
}

Result<> GpuSum::queue_all_scaled(double scale) {
    for (const Share& share : shares_)
        if (const Result<> queued = queue_scaled(share, scale); !queued) return failed(queued);
    return {};
}

Task<Result<>> GpuSum::run(double scale) {
    if (abort_) co_return *abort_;
    const Result<> queued = queue_all_partials();
    if (!queued) co_return queued;
    const Result<> summed = co_await sum_among_gpus();
    if (!summed) co_return summed;
    co_return queue_all_scaled(scale);
}

void GpuSum::abort(const base::Error& error) {
    if (abort_) return;
    abort_ = error;
    if (running_since_ != base::TimePoint{}) communicator_->abort(error);
}

Result<> GpuSum::commit() {
    for (const Share& share : shares_)
        if (const Result<> queued = give_on_device(share.members, layout_, *share.scratch); !queued)
            return failed(queued);
    return {};
}

std::unique_ptr<DeviceResult> GpuSum::take_result() {
    const Share& share = shares_.front();
    return std::make_unique<DeviceResult>(share.members.front().contents->lane, share.scratch,
                                          layout_);
}

// ------------------------------------------------------------------------------------- the cards

Task<Result<std::vector<GpuCard>>> exchange_cards(collectives::Communicator& communicator,
                                                  const GpuCard& mine) {
    const size_t nodes = communicator.size();
    const GpuCardBytes sent_bytes = bytes_of(mine);
    std::vector<GpuCardBytes> bytes(nodes);
    const std::unique_ptr<collectives::Operation[]> sent(new collectives::Operation[nodes]);
    const std::unique_ptr<collectives::Operation[]> received(new collectives::Operation[nodes]);
    for (size_t node = 0; node < nodes; ++node) {
        if (node == communicator.self()) continue;
        communicator.post_receive(received[node], node, kCardSlot, bytes[node]);
        communicator.post_send(sent[node], node, kCardSlot, sent_bytes);
    }
    for (size_t node = 0; node < nodes; ++node) {
        communicator.note(co_await received[node].ended());
        communicator.note(co_await sent[node].ended());
    }
    if (communicator.aborted()) co_return communicator.status().error();
    std::vector<GpuCard> cards;
    for (size_t node = 0; node < nodes; ++node) {
        const Result<GpuCard> card =
            node == communicator.self() ? Result<GpuCard>(mine) : card_of(bytes[node]);
        if (!card) {
            communicator.abort(card.error());
            co_return card.error();
        }
        cards.push_back(*card);
    }
    co_return cards;
}

}  // namespace pace::daemon
