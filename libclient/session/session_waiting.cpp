// Requests that end: waiting for them, taking completions off the ring, and telling the caller.
#include <algorithm>

#include "libclient/requests/claims.h"
#include "libclient/requests/outside_memory.h"
#include "libclient/session/session.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;
using protocol::Verb;

namespace {

// An interruptible wait misses a signal that was handled before the wait slept, or by another
// thread. This is the longest time for which the wait goes on then.
constexpr base::Duration kInterruption = std::chrono::milliseconds(500);

// The pauses between looks for a result on its way to the GPU. A pause is too short to be noticed
// and longer than a look takes.
constexpr base::Duration kPauseMin = std::chrono::microseconds(5);
constexpr base::Duration kPauseMax = std::chrono::milliseconds(1);

Result<> check_waiter(const Request& request, const Waiter& waiter) {
    if (waiter.ordinal == request.gpu->ordinal()) return {};
    return make_error(ErrorKind::invalid,
                      "options->device.id is {}, but the buffers are on GPU {}; give a stream of "
                      "that",
                      waiter.ordinal, request.gpu->ordinal());
}

}  // namespace

Result<bool> Session::wait(RequestHandle handle, TimePoint deadline, RequestEnd* ret_end,
                           Waiter waiter) {
    return await({&handle, 1}, deadline, ret_end, waiter);
}

Result<bool> Session::wait_any(std::span<const RequestHandle> wanted, TimePoint deadline,
                               RequestEnd* ret_end, Waiter waiter) {
    return await(wanted, deadline, ret_end, waiter);
}

Result<bool> Session::next(TimePoint deadline, RequestEnd* ret_end, Waiter waiter) {
    return await({}, deadline, ret_end, waiter);
}

// An empty `wanted` means any request of the session.
Result<bool> Session::await(std::span<const RequestHandle> wanted, TimePoint deadline,
                            RequestEnd* ret_end, Waiter waiter) {
    const TimePoint slice = base::now() + kInterruption;
    const bool is_sliced = waiter.by_signals && deadline > slice;
    const TimePoint until = is_sliced ? slice : deadline;
    bool interrupted = false;
    std::unique_lock lock(mutex_);
    for (;;) {
        // Another thread may have left the job meanwhile.
        PACE_TRY(check_open());
        const bool late = base::now() >= deadline;
        PACE_TRY_ASSIGN(request, look(wanted, late));
        if (request != nullptr && request->adding) {
            if (late && !waiter.finishes) return false;
            if (waiter.finishes)
                collected_.wait(lock);
            else
                collected_.wait_until(lock, deadline);
            continue;
        }
        if (request != nullptr) {
            auto told = tell(requests_.handle(*request), deadline, ret_end, waiter, lock);
            // Another thread has collected the request while the lock was released.
            const bool is_taken = !told && told.error().kind == ErrorKind::handle;
            if (wanted.empty() && is_taken) continue;
            return told;
        }
        PACE_TRY_ASSIGN(queued, queue_wait(wanted, deadline, ret_end, waiter, lock));
        if (queued || late) return false;
        if (interrupted || (is_sliced && base::now() >= slice)) {
            if (ret_end != nullptr) ret_end->interrupted = true;
            return false;
        }
        if (collecting_)
            collected_.wait_until(lock, until);
        else
            interrupted = collect(lock, until, waiter.by_signals);
    }
}

// Returns the ended request, or null if there is none. `late` means that the caller will not wait
// after this look.
Result<Request*> Session::look(std::span<const RequestHandle> wanted, bool late) {
    PACE_TRY_ASSIGN(request, requests_.ended(wanted));
    if (request != nullptr || collecting_) return request;
    collect_now();
    PACE_TRY_ASSIGN(arrived, requests_.ended(wanted));
    // A thread that waits learns of the daemon's death while it sleeps. A thread that only looks
    // must ask.
    if (arrived != nullptr || !late) return arrived;
    (void)is_connected();
    return requests_.ended(wanted);
}

// Tells the end of a request that has ended. Returns false if the result has not reached its place
// at the deadline.
Result<bool> Session::tell(RequestHandle handle, TimePoint deadline, RequestEnd* ret_end,
                           Waiter waiter, std::unique_lock<std::mutex>& lock) {
    PACE_TRY_ASSIGN(request, requests_.find(handle));
    PACE_TRY(check_progress(*request, ret_end));
    if (request->gpu) {
        PACE_TRY_ASSIGN(come, meet_gpu(handle, deadline, waiter, lock));
        if (!come) return false;
        PACE_TRY_ASSIGN(met, requests_.find(handle));
        request = met;
    }
    const bool is_outside = request->keeps_local || request->stages;
    if (is_outside && !finish_outside(*request, deadline, waiter.finishes, lock)) return false;
    PACE_TRY_ASSIGN(told, requests_.find(handle));
    deliver(*told, ret_end);
    return true;
}

// Makes the waiter's stream wait for a request in flight. Returns false if that was not asked for,
// if streams cannot do so, or if the stream could not before the deadline.
Result<bool> Session::queue_wait(std::span<const RequestHandle> wanted, TimePoint deadline,
                                 RequestEnd* ret_end, const Waiter& waiter,
                                 std::unique_lock<std::mutex>& lock) {
    if (!waiter.queues || wanted.size() != 1) return false;
    for (base::Duration pause = kPauseMin;; pause = std::min(2 * pause, kPauseMax)) {
        PACE_TRY_ASSIGN(request, requests_.find(wanted.front()));
        if (request->ended || !request->gpu || !request->gpu->holds_streams()) return false;
        PACE_TRY(check_waiter(*request, waiter));
        PACE_TRY_ASSIGN(waits, request->gpu->await_on(request->slot(), request->id, waiter.stream));
        if (waits && ret_end != nullptr) ret_end->queued = true;
        if (waits) return true;
        if (base::now() >= deadline || !is_connected()) return false;
        collected_.wait_for(lock, pause);
        PACE_TRY(check_open());
    }
}

// Waits until the result of an ended request is there, or orders the waiter's stream behind the
// result. Returns false if the result is not there at the deadline.
Result<bool> Session::meet_gpu(RequestHandle handle, TimePoint deadline, Waiter waiter,
                               std::unique_lock<std::mutex>& lock) {
    for (base::Duration pause = kPauseMin;; pause = std::min(2 * pause, kPauseMax)) {
        PACE_TRY_ASSIGN(request, requests_.find(handle));
        if ((request->end.entry.flags & protocol::kCompletionOnDevice) == 0) return true;
        // A daemon that dies may leave its last copies undone, whatever it has told.
        if (!is_connected() || request->gpu_order != request->gpu->order()) {
            request->contents = protocol::WriteState::writing;
            fill_gone(request->end,
                      gone_text(*request, "it died while the result was on its way to the GPU"));
            return true;
        }
        if (waiter.is_stream) PACE_TRY(check_waiter(*request, waiter));
        const auto come = waiter.is_stream
                              ? request->gpu->await_on(request->slot(), request->id, waiter.stream)
                              : request->gpu->has_come(request->slot(), request->id);
        if (!come && waiter.is_stream) return come.error();
        if (!come) {
            fill_failed(request->end, come.error());
            return true;
        }
        if (*come) return true;
        if (base::now() >= deadline) return false;
        // The driver knows neither the deadline nor the daemon's death, so the thread looks again.
        collected_.wait_for(lock, pause);
    }
}

// Brings the result of an ended request to the trainer's own memory. Returns false if there is more
// to do at the deadline.
bool Session::finish_outside(Request& request, TimePoint deadline, bool finishes,
                             std::unique_lock<std::mutex>& lock) {
    const bool is_done = request.end.entry.outcome == protocol::Outcome::done;
    const bool is_whole = request.stages && request.contents == protocol::WriteState::whole;
    Request* ended = &request;
    bool all = true;
    if ((is_done || is_whole) && protocol::writes_buffers(request.verb)) {
        OutsideResult result(buffers_, request);
        ended = &work_outside(request, lock, [&] { all = result.bring(deadline, finishes); });
        ended->added = result.done();
    }
    if (all) release_claims(buffers_, *ended);
    collected_.notify_all();
    return all;
}

std::string Session::awaited(RequestHandle handle) {
    const std::scoped_lock lock(mutex_);
    const auto request = requests_.find(handle);
    if (!request || (*request)->ended || gone_) return {};
    return printable(connection_->ring().awaited(handle.id), protocol::kWaitTextBytes);
}

// Returns true if a signal has come meanwhile and the waiter is to be told of it.
bool Session::collect(std::unique_lock<std::mutex>& lock, TimePoint deadline, bool by_signals) {
    collecting_ = true;
    const std::shared_ptr<Connection> connection = connection_;
    lock.unlock();
    const Wake wake = connection->await_completion(deadline, by_signals);
    lock.lock();
    collecting_ = false;
    // Another thread may have lost this connection meanwhile and made a new one. Another thread may
    // also be leaving, and then the daemon's last message is for that thread.
    if (connection == connection_ && !gone_ && !left_) {
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
    // The result has still to be copied to the trainer's own memory, so the buffers stay claimed.
    if (!request.keeps_local && !request.stages) release_claims(buffers_, request);
    requests_.end(request);
    if (signal_) signal_->set_ended(true);
}

void Session::deliver(Request& request, RequestEnd* ret_end) {
    if (ret_end != nullptr) {
        ret_end->handle = requests_.handle(request);
        fill(*ret_end, request);
    }
    requests_.collect(request);
    if (signal_) signal_->set_ended(requests_.count_ended() > 0);
}

Result<int> Session::ready_fd() {
    PACE_TRY(check_open());
    const std::scoped_lock lock(mutex_);
    if (signal_) return signal_->fd();
    PACE_TRY_ASSIGN(signal, ReadySignal::create());
    PACE_TRY(signal->attach(connection_->ring().completion_bell(), connection_->socket()));
    signal_ = std::move(signal);
    signal_->set_ended(requests_.count_ended() > 0);
    // The completions that are in the ring already were posted without the bell. Take them here,
    // unless the collector will take them.
    connection_->ring().set_sleeping(true);
    if (!collecting_) collect_now();
    return signal_->fd();
}

}  // namespace pace::client
