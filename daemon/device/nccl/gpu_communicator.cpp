#include "daemon/device/nccl/gpu_communicator.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "daemon/device/nccl/communicator_thread.h"

namespace pace::device {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

using Phase = CommunicatorThread::Phase;
using Segment = GpuCommunicator::Segment;

Result<> check_ranks(const std::vector<GpuCommunicator::Rank>& ranks, uint32_t world) {
    std::set<uint32_t> numbers;
    std::set<const Device*> devices;
    for (const auto& [device, rank] : ranks) {
        if (rank >= world)
            return make_error(ErrorKind::invalid, "rank {} of a group of {} GPUs", rank, world);
        if (!numbers.insert(rank).second || !devices.insert(device).second)
            return make_error(ErrorKind::invalid,
                              "rank {} of {} GPUs: each has a rank and a device of its own", rank,
                              world);
    }
    if (!ranks.empty()) return {};
    return make_error(ErrorKind::invalid, "no rank of the {} GPUs is of this process", world);
}

bool are_alike(const Segment& a, const Segment& b) {
    return a.count == b.count && a.dtype == b.dtype;
}

}  // namespace

Result<GroupId> make_group_id() {
    const auto& library = NcclLibrary::get();
    if (!library) return library.error();
    ncclUniqueId unique{};
    PACE_TRY((*library)->check((*library)->get_unique_id(&unique), "name a group of GPUs"));
    GroupId id;
    std::memcpy(id.bytes.data(), &unique, sizeof(unique));
    return id;
}

std::shared_ptr<GpuCommunicator> GpuCommunicator::create(base::EventLoop& loop,
                                                         const NcclLibrary& library,
                                                         const GroupId& id, uint32_t world,
                                                         std::vector<Rank> ranks,
                                                         base::Duration deadline, Callback ready) {
    std::shared_ptr<GpuCommunicator> made(new GpuCommunicator(loop, std::move(ranks)));
    made->ready_ = std::move(ready);
    if (const auto begun = made->begin(library, id, world, deadline); !begun)
        loop.defer(base::keep(
            made, [begun](GpuCommunicator& unmade) { unmade.finish(unmade.ready_, begun); }));
    return made;
}

Result<> GpuCommunicator::begin(const NcclLibrary& library, const GroupId& id, uint32_t world,
                                base::Duration deadline) {
    PACE_TRY(check_ranks(ranks_, world));
    std::vector<CommunicatorThread::Rank> ranks;
    for (const auto& [device, rank] : ranks_) ranks.push_back({device->facts().ordinal, rank});
    PACE_TRY_ASSIGN(thread, CommunicatorThread::start(library, ranks_.front().device->driver(), id,
                                                      world, ranks, deadline));
    thread_ = std::move(thread);
    auto listening = listen();
    if (!listening) std::exchange(thread_, nullptr)->leave();
    return listening;
}

// Does not touch the loop, which may be ending.
GpuCommunicator::~GpuCommunicator() {
    if (thread_ != nullptr) thread_->leave();
}

GpuCommunicator::State GpuCommunicator::state() const {
    if (thread_ == nullptr) return State::broken;
    switch (thread_->phase()) {
        case Phase::making:
            return State::making;
        case Phase::idle:
        case Phase::queueing:
        case Phase::summing:
            // The thread may be ahead of the callbacks.
            return ready_ ? State::making : State::ready;
        case Phase::aborting:
        case Phase::aborted:
        case Phase::finalizing:
            break;
    }
    return State::broken;
}

// Watches only while a callback is pending; meanwhile the loop holds this communicator.
Result<> GpuCommunicator::listen() {
    return loop_.watch(thread_->descriptor(), EPOLLIN, [self = shared_from_this()](uint32_t) {
        self->thread_->clear_descriptor();
        self->look();
    });
}

void GpuCommunicator::finish(Callback& callback, const Result<>& result) {
    if (thread_ != nullptr) loop_.unwatch(thread_->descriptor());
    const Callback taken = std::exchange(callback, nullptr);
    taken(result);  // may begin the next sum, or drop this communicator
}

void GpuCommunicator::look() {
    const auto self = shared_from_this();
    const Phase phase = thread_->phase();
    if (ready_ && phase == Phase::idle) return finish(ready_, {});
    // NCCL uses no memory of the caller yet, so nothing needs to wait for its abort.
    if (ready_ && phase >= Phase::aborting) return finish(ready_, thread_->reason());
    if (ended_) look_at_sum();
}

// Whether the sum succeeded or not, the streams must first have passed it.
void GpuCommunicator::look_at_sum() {
    const Phase phase = thread_->phase();
    if (phase != Phase::summing && phase != Phase::aborted) return;
    if (!std::exchange(awaiting_, true)) return await_streams();
    if (streams_left_ > 0) return;
    if (phase == Phase::aborted) return finish(ended_, thread_->reason());
    // On false, NCCL has reported an error meanwhile, and the kernels may have ended wrongly:
    // `aborted` follows.
    if (thread_->end_sum()) finish(ended_, {});
}

void GpuCommunicator::await_streams() {
    streams_left_ = ranks_.size();
    for (size_t i = 0; i < ranks_.size(); ++i) {
        ranks_[i].device->when_done(streams_[i],
                                    [self = shared_from_this()](const Result<>& result) {
                                        // Abort at once: the kernels of the other devices may wait
                                        // for this one's.
                                        if (!result) self->thread_->abort(result.error());
                                        if (--self->streams_left_ == 0) self->look();
                                    });
    }
}

Result<> GpuCommunicator::check(const std::vector<Share>& shares) const {
    if (shares.size() != ranks_.size())
        return make_error(ErrorKind::invalid, "a sum with {} shares, of {} ranks of this process",
                          shares.size(), ranks_.size());
    for (const Share& share : shares) {
        const auto& segments = share.segments;
        if (!std::ranges::equal(segments, shares.front().segments, are_alike))
            return make_error(ErrorKind::invalid,
                              "a sum whose ranks bring segments of different types or counts");
        for (const Segment& segment : segments) PACE_TRY(nccl_type_of(segment.dtype));
    }
    return {};
}

Result<> GpuCommunicator::begin_sum(std::vector<Share> shares) {
    PACE_TRY(check(shares));
    if (state() == State::broken)
        return thread_ == nullptr ? make_error(ErrorKind::unavailable, "the GPUs have never met")
                                  : thread_->reason();
    if (state() == State::making)
        return make_error(ErrorKind::invalid, "a sum before the GPUs have met");
    if (ended_) return make_error(ErrorKind::invalid, "a sum while another is under way");
    PACE_TRY(listen());
    streams_.clear();
    for (const Share& share : shares) streams_.push_back(share.stream);
    awaiting_ = false;
    thread_->sum(std::move(shares));
    return {};
}

void GpuCommunicator::sum(std::vector<Share> shares, Callback ended) {
    if (const auto begun = begin_sum(std::move(shares)); !begun) {
        loop_.defer(base::keep(shared_from_this(), [ended = std::move(ended), begun](
                                                       const GpuCommunicator&) { ended(begun); }));
        return;
    }
    ended_ = std::move(ended);
}

void GpuCommunicator::abort(const base::Error& why) {
    if (thread_ != nullptr) thread_->abort(why);
}

}  // namespace pace::device
