// Requests that end: who waits for them, what comes off the ring, and what the caller is told.
#include <algorithm>

#include "libclient/session.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;
using protocol::Verb;

namespace {

// How long an interruptible wait may miss a signal that was handled before it slept, or by another thread.
constexpr base::Duration kInterruption = std::chrono::milliseconds(500);

// What the trainer says of its own progress must fit its call.
Result<> check_progress(const Request& request, const RequestEnd* end) {
    if (!request.keeps_local || end == nullptr || end->local_iteration == 0 ||
        end->local_iteration >= request.iteration)
        return {};
    return make_error(
        ErrorKind::invalid,
        "ret_info->local_iteration is {}, but the average was called at iteration {}; "
        "give the iteration that the worker has reached, or 0",
        end->local_iteration, request.iteration);
}

uint64_t staleness_of(const Request& request, const RequestEnd& end) {
    const bool counts = request.keeps_local && end.local_iteration != 0 &&
                        end.entry.outcome == protocol::Outcome::done;
    return counts ? end.local_iteration - request.iteration : 0;
}

}  // namespace

Result<bool> Session::wait(RequestHandle handle, TimePoint deadline, RequestEnd* ret_end,
                           Waiter waiter) {
    PACE_TRY(check_process());
    const TimePoint slice = base::now() + kInterruption;
    const bool is_sliced = interruptible_ && deadline > slice;
    std::unique_lock lock(mutex_);
    for (;;) {
        PACE_TRY_ASSIGN(request, requests_.find(handle));
        if (!request->ended && !collecting_) collect_now();
        const bool late = base::now() >= deadline;
        // A waiter learns of the daemon's death while it sleeps; one that only looks must ask.
        if (late && !request->ended && !collecting_) (void)is_connected();
        if (request->ended && request->adding) {
            if (late) return false;
            collected_.wait_until(lock, deadline);
            continue;
        }
        if (request->ended) {
            PACE_TRY(check_progress(*request, ret_end));
            if (request->gpu) {
                PACE_TRY_ASSIGN(come, meet_gpu(handle, deadline, waiter, lock));
                if (!come) return false;
            }
            if (request->keeps_local && !add_average(*request, deadline, lock)) return false;
            deliver(**requests_.find(handle), ret_end);
            return true;
        }
        if (late) return false;
        bool interrupted = is_sliced && base::now() >= slice;
        if (!interrupted && collecting_)
            collected_.wait_until(lock, is_sliced ? slice : deadline);
        else if (!interrupted)
            interrupted = collect(lock, is_sliced ? slice : deadline);
        if (!interrupted) continue;
        PACE_TRY_ASSIGN(waited, requests_.find(handle));
        if (waited->ended) continue;
        if (ret_end != nullptr) ret_end->interrupted = true;
        return false;
    }
}

std::string Session::awaited(RequestHandle handle) {
    const std::scoped_lock lock(mutex_);
    const auto request = requests_.find(handle);
    if (!request || (*request)->ended || gone_) return {};
    return printable(connection_->ring().awaited(handle.id), protocol::kWaitTextBytes);
}

// True if a signal has come meanwhile, and the session may be interrupted.
bool Session::collect(std::unique_lock<std::mutex>& lock, TimePoint deadline) {
    collecting_ = true;
    const std::shared_ptr<Connection> connection = connection_;
    lock.unlock();
    const Wake wake = connection->await_completion(deadline, interruptible_);
    lock.lock();
    collecting_ = false;
    // Meanwhile another thread may have lost this connection and made a new one.
    if (connection == connection_ && !gone_) {
        if (!signal_) connection->ring().set_sleeping(false);
        collect_now();
        if (wake == Wake::gone && !gone_) lose(connection_->farewell());
    }
    collected_.notify_all();
    return wake == Wake::interrupted;
}

void Session::collect_now() {
    if (gone_) return;
    if (auto taken = take_completions(); !taken) lose(taken.error().message);
}

Result<> Session::take_completions() {
    ClientRing& ring = connection_->ring();
    if (signal_) ring.clear_bell();
    for (;;) {
        PACE_TRY_ASSIGN(taken, ring.take_completion(&arriving_));
        if (!taken) return {};
        Request* request = requests_.in_flight(arriving_.entry.id);
        if (request == nullptr)
            return make_error(ErrorKind::corrupt,
                              "it told the end of request {:#x}, which is not in flight",
                              arriving_.entry.id);
        std::swap(request->end, arriving_);
        learn_standing(*request);
        end(*request);
    }
}

void Session::learn_standing(const Request& request) {
    const protocol::CompletionEntry& entry = request.end.entry;
    if (entry.outcome != protocol::Outcome::done) return;
    standing_.iteration = entry.iteration;
    const bool is_round = request.verb == Verb::reduce || request.verb == Verb::broadcast ||
                          request.verb == Verb::sync || request.verb == Verb::barrier;
    if (is_round) standing_.rounds = entry.group + 1;
}

void Session::end(Request& request) {
    // The average has still to be added to buffers that the trainer kept.
    if (!request.keeps_local) release_buffers(request);
    requests_.end(request);
    if (signal_) signal_->set_ended(true);
}

void Session::deliver(Request& request, RequestEnd* ret_end) {
    if (ret_end != nullptr) {
        ret_end->entry = request.end.entry;
        ret_end->contents = request.contents;
        ret_end->staleness = staleness_of(request, *ret_end);
        ret_end->entry.iteration += ret_end->staleness;
        auto& members = request.end.members;
        std::sort(members.begin(), members.end(),
                  [](const auto& a, const auto& b) { return a.rank < b.rank; });
        const size_t count = std::min(members.size(), ret_end->room.size());
        std::copy_n(members.begin(), count, ret_end->room.begin());
        ret_end->listed = static_cast<uint32_t>(count);
    }
    requests_.collect(request);
    if (signal_) signal_->set_ended(requests_.count_ended() > 0);
}

Result<int> Session::ready_fd() {
    PACE_TRY(check_process());
    const std::scoped_lock lock(mutex_);
    if (signal_) return signal_->fd();
    PACE_TRY_ASSIGN(signal, ReadySignal::create());
    PACE_TRY(signal->attach(connection_->ring().completion_bell(), connection_->socket()));
    signal_ = std::move(signal);
    signal_->set_ended(requests_.count_ended() > 0);
    // What is in the ring already was posted without the bell: take it, unless the collector will.
    connection_->ring().set_sleeping(true);
    if (!collecting_) collect_now();
    return signal_->fd();
}

}  // namespace pace::client
