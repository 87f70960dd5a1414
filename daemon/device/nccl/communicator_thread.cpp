#include "daemon/device/nccl/communicator_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/attempt.h"
#include "base/threads/begin_thread.h"

namespace pace::device {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using base::cuda::ContextScope;

namespace {

// NCCL does not notify when its own threads have finished work. So it is polled, first at once and
// then at growing intervals.
constexpr base::Duration kAskFirst = std::chrono::microseconds(20);
constexpr base::Duration kAskLast = std::chrono::milliseconds(5);
// Interval at which a running sum is checked for failed ranks.
constexpr base::Duration kAskInSum = std::chrono::milliseconds(50);
// A guess. Finalizing waits for the other ranks of this node, and a dead rank never comes.
constexpr base::Duration kFinalizeMax = std::chrono::seconds(2);
// A guess at the time that the threads may need to end at the end of their process.
constexpr base::Duration kExitMax = std::chrono::seconds(5);

// The threads that have not been joined. Only the end of the process waits for them, since it would
// otherwise remove CUDA while they use it. Never destroyed, as a thread may outlast even that wait.
class RunningThreads {
  public:
    static RunningThreads& all() {
        static RunningThreads& running = *[] {
            (void)std::atexit([] { all().end(); });
            return new RunningThreads;
        }();
        return running;
    }

    void add(std::shared_ptr<CommunicatorThread> communicator, std::thread thread) {
        const std::scoped_lock lock(mutex_);
        std::erase_if(running_, [](Running& one) { return one.join_by({}); });
        running_.push_back({std::move(communicator), std::move(thread)});
    }

  private:
    struct Running {
        std::shared_ptr<CommunicatorThread> communicator;
        std::thread thread;

        bool join_by(base::TimePoint deadline) {
            if (!communicator->wait_for_end(deadline)) return false;
            thread.join();
            return true;
        }
    };

    void end() {
        const std::scoped_lock lock(mutex_);
        for (const Running& one : running_) one.communicator->leave();
        const base::TimePoint deadline = base::now() + kExitMax;
        std::erase_if(running_, [&](Running& one) { return one.join_by(deadline); });
    }

    std::mutex mutex_;
    std::vector<Running> running_;
};

}  // namespace

Result<std::shared_ptr<CommunicatorThread>> CommunicatorThread::start(
    const NcclLibrary& library, const base::cuda::CudaDriver& driver, const GroupId& id,
    uint32_t world, const std::vector<Rank>& ranks, base::Duration deadline) {
    std::shared_ptr<CommunicatorThread> started(new CommunicatorThread(library, driver));
    std::memcpy(&started->id_, id.bytes.data(), sizeof(started->id_));
    started->world_ = static_cast<int>(world);
    started->deadline_ = deadline;
    started->news_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!started->news_.valid()) return base::make_errno_error(errno, "create eventfd");
    for (const auto& [ordinal, rank] : ranks)
        started->members_.push_back({ordinal, static_cast<int>(rank), nullptr, nullptr});
    try {
        RunningThreads::all().add(started, std::thread([started] { started->run(); }));
    } catch (const std::system_error& failed) {
        return base::make_errno_error(failed.code().value(), "start a thread for NCCL");
    }
    return started;
}

void CommunicatorThread::clear_descriptor() const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(news_.get(), &count, sizeof(count));
}

CommunicatorThread::Phase CommunicatorThread::phase() const {
    const std::scoped_lock lock(mutex_);
    return phase_;
}

Error CommunicatorThread::reason() const {
    const std::scoped_lock lock(mutex_);
    return reason_;
}

void CommunicatorThread::sum(std::vector<GpuCommunicator::Share> shares) {
    const std::scoped_lock lock(mutex_);
    shares_ = std::move(shares);
    phase_ = Phase::queueing;
    changed_.notify_all();
}

void CommunicatorThread::abort(const Error& why) {
    const std::scoped_lock lock(mutex_);
    if (phase_ >= Phase::aborting) return;
    reason_ = why;
    phase_ = Phase::aborting;
    changed_.notify_all();
    ring();
}

void CommunicatorThread::leave() {
    const std::scoped_lock lock(mutex_);
    leaving_ = true;
    if (phase_ == Phase::idle) phase_ = Phase::finalizing;
    if (phase_ < Phase::aborting) phase_ = Phase::aborting;
    changed_.notify_all();
}

bool CommunicatorThread::wait_for_end(base::TimePoint deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return ended_; });
}

bool CommunicatorThread::change(Phase from, Phase to) {
    const std::scoped_lock lock(mutex_);
    if (phase_ != from) return false;
    phase_ = to;
    changed_.notify_all();
    return true;
}

// Wakes the loop.
void CommunicatorThread::ring() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(news_.get(), &one, sizeof(one));
}

// Pauses while the phase stays the same. Returns false as soon as it is another.
bool CommunicatorThread::rest(Phase phase, base::Duration pause) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, pause, [&] { return phase_ != phase; });
}

// Waits for a phase in which the thread has work. Returns `aborted` if there is no work left.
CommunicatorThread::Phase CommunicatorThread::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [this] { return phase_ != Phase::idle && (phase_ != Phase::aborted || leaving_); });
    return phase_;
}

void CommunicatorThread::run() {
    const Result<> held = hold_contexts();
    {
        // After some calls NCCL restores the device that the thread had before. Without one of our
        // contexts that would open another GPU.
        const ContextScope scope(driver_, members_.front().context);
        if (const auto made = held ? make() : held; !made)
            abort(made.error());
        else if (change(Phase::making, Phase::idle))
            ring();
        work();
    }
    release_contexts();
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
}

void CommunicatorThread::work() {
    for (;;) {
        Result<> done;
        switch (next()) {
            case Phase::making:
            case Phase::idle:
                break;
            case Phase::queueing:
                done = queue();
                if (done && change(Phase::queueing, Phase::summing)) ring();
                break;
            case Phase::summing:
                if (!rest(Phase::summing, kAskInSum)) break;
                if (const auto settled = is_settled(); !settled) done = settled.error();
                break;
            case Phase::aborting:
                abort_members();
                if (change(Phase::aborting, Phase::aborted)) ring();
                break;
            case Phase::finalizing:
                if (!finalize()) abort_members();
                return;
            case Phase::aborted:
                return;
        }
        if (!done) abort(done.error());
    }
}

// Runs `calls` as one NCCL group, whose operations begin together. The group is always ended, even
// after an error, since the thread owns it.
template <typename Calls>
Result<> CommunicatorThread::in_a_group(Calls calls) {
    PACE_TRY(library_.check(library_.group_start(), "group calls of NCCL"));
    const Result<> called = calls();
    const Result<> ended = library_.check(library_.group_end(), "begin with " + members_text());
    return called ? ended : called;
}

// Whether NCCL has finished all operations that it has begun.
Result<bool> CommunicatorThread::is_settled() {
    bool settled = true;
    for (const Member& member : members_) {
        ncclResult_t state = ncclSuccess;
        PACE_TRY(library_.check(library_.comm_get_async_error(member.communicator, &state),
                                "ask how NCCL is"));
        PACE_TRY(
            library_.check(state, fmt::format("GPU {} of a group of {}", member.rank, world_)));
        settled = settled && state != ncclInProgress;
    }
    return settled;
}

// Waits until settled. Returns false at the deadline, or when the phase has changed.
Result<bool> CommunicatorThread::settle(Phase phase, base::TimePoint deadline) {
    for (base::Duration pause = kAskFirst;; pause = std::min(2 * pause, kAskLast)) {
        PACE_TRY_ASSIGN(settled, is_settled());
        if (settled) return true;
        if (base::now() >= deadline || !rest(phase, pause)) return false;
    }
}

std::string CommunicatorThread::members_text() const {
    std::string text;
    for (const Member& member : members_)
        text += fmt::format("{}{}", text.empty() ? "rank " : ", ", member.rank);
    return text + fmt::format(" of {} GPUs", world_);
}

// Retains each device's primary context, which the driver counts.
Result<> CommunicatorThread::hold_contexts() {
    for (Member& member : members_) {
        base::cuda::CUdevice device = 0;
        PACE_TRY(driver_.check(driver_.device_get(&device, member.ordinal), "look at a GPU"));
        PACE_TRY(driver_.check(driver_.primary_context_retain(&member.context, device),
                               "hold a GPU's context"));
    }
    return {};
}

void CommunicatorThread::release_contexts() {
    for (const Member& member : members_) {
        base::cuda::CUdevice device = 0;
        if (member.context != nullptr &&
            driver_.device_get(&device, member.ordinal) == base::cuda::kSuccess)
            (void)driver_.primary_context_release(device);
    }
}

// NCCL asks CUDA's runtime for the thread's device, which is that of the current context.
Result<> CommunicatorThread::make_members() {
    for (Member& member : members_) {
        const ContextScope scope(driver_, member.context);
        ncclConfig_t config;
        PACE_TRY(library_.check(
            library_.comm_init_rank_config(&member.communicator, world_, id_, member.rank, &config),
            fmt::format("join {} GPUs as rank {}", world_, member.rank)));
    }
    return {};
}

Result<> CommunicatorThread::make() {
    const base::TimePoint deadline = base::now() + deadline_;
    PACE_TRY(in_a_group([this] { return make_members(); }));
    PACE_TRY_ASSIGN(met, settle(Phase::making, deadline));
    if (met) return {};
    return make_error(ErrorKind::timeout, "{} waited {:.1f} s in vain for the others",
                      members_text(), base::to_seconds(deadline_));
}

Result<> CommunicatorThread::queue_member(Member& member, const GpuCommunicator::Share& share) {
    const ContextScope scope(driver_, member.context);
    for (const auto& [data, count, dtype] : share.segments) {
        PACE_TRY_ASSIGN(type, nccl_type_of(dtype));
        PACE_TRY(library_.check(library_.all_reduce(data, data, count, type, ncclSum,
                                                    member.communicator, share.stream),
                                fmt::format("sum as rank {} of {} GPUs", member.rank, world_)));
    }
    return {};
}

Result<> CommunicatorThread::queue_members() {
    for (size_t i = 0; i < members_.size(); ++i) PACE_TRY(queue_member(members_[i], shares_[i]));
    return {};
}

Result<> CommunicatorThread::queue() {
    PACE_TRY(in_a_group([this] { return queue_members(); }));
    // The first sum waits here until the other ranks connect, too. A caller that waits too long
    // aborts.
    PACE_TRY(settle(Phase::queueing, base::TimePoint::max()));
    return {};
}

Result<> CommunicatorThread::finalize() {
    for (const Member& member : members_)
        PACE_TRY(library_.check(library_.comm_finalize(member.communicator), "finalize"));
    PACE_TRY_ASSIGN(finalized, settle(Phase::finalizing, base::now() + kFinalizeMax));
    if (!finalized) return make_error(ErrorKind::timeout, "another rank does not finalize");
    std::vector<ncclResult_t> ends(members_.size(), ncclSuccess);
    at_once([&](size_t i) {
        ends[i] = library_.comm_destroy(std::exchange(members_[i].communicator, nullptr));
    });
    for (const ncclResult_t end : ends) PACE_TRY(library_.check(end, "destroy"));
    return {};
}

// Calls of NCCL that end a rank may wait for those of the other ranks of the process. A thread that
// cannot begin leaves its rank to this one, after the others.
void CommunicatorThread::at_once(const std::function<void(size_t)>& end_member) {
    const auto end = [&](size_t i) {
        const ContextScope scope(driver_, members_[i].context);
        end_member(i);
    };
    std::vector<std::thread> threads;
    std::vector<size_t> left;
    for (size_t i = 0; i < members_.size(); ++i) {
        const bool is_last = i + 1 == members_.size();
        const bool has_begun = !is_last && base::attempt([&] {
            threads.push_back(base::begin_thread([&end, i] { end(i); }));
        });
        if (!has_begun) left.push_back(i);
    }
    for (const size_t i : left) end(i);
    for (std::thread& thread : threads) thread.join();
}

// May hang in NCCL or on a device. Only callers that must not free the memory earlier wait for
// this.
void CommunicatorThread::abort_members() {
    at_once([this](size_t i) {
        Member& member = members_[i];
        if (member.communicator == nullptr) return;
        (void)library_.comm_abort(std::exchange(member.communicator, nullptr));
    });
}

}  // namespace pace::device
