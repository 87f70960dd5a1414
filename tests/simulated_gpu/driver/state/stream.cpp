#include "tests/simulated_gpu/driver/state/stream.h"

#include <pthread.h>

#include <algorithm>
#include <cfenv>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads/without_signals.h"
#include "tests/simulated_gpu/driver/state/connection.h"
#include "tests/simulated_gpu/driver/state/settings.h"

namespace pace::simulated_gpu {

namespace {

using Clock = std::chrono::steady_clock;

// A guess at the time that an honest host function may take.
constexpr std::chrono::seconds kEndMax{2};

struct Running {
    std::shared_ptr<Stream> stream;
    std::thread thread;
};

// All threads that have not been joined, and the work that cancelled streams have left. The object
// is never destroyed, because threads may outlive main. The remaining work is kept, because only
// its host function may free what it points to.
struct Threads {
    std::mutex mutex;
    std::vector<Running> running;
    std::vector<Stream::Work> left;
};

Threads& threads() {
    static Threads& all = *new Threads;
    return all;
}

thread_local bool is_stream_thread = false;

// Takes those of the running streams that `predicate` chooses.
template <typename Predicate>
std::vector<Running> take_running(Predicate predicate) {
    const std::scoped_lock lock(threads().mutex);
    auto& all = threads().running;
    const auto kept = std::partition(all.begin(), all.end(),
                                     [&](const Running& one) { return !predicate(*one.stream); });
    std::vector<Running> taken(std::make_move_iterator(kept), std::make_move_iterator(all.end()));
    all.erase(kept, all.end());
    return taken;
}

// A host function may never return. Its thread is then detached.
void join(std::vector<Running> ending, Clock::time_point deadline) {
    for (Running& one : ending) {
        if (!Stream::is_this_thread() && one.stream->wait_for_end(deadline))
            one.thread.join();
        else
            one.thread.detach();
    }
}

}  // namespace

std::shared_ptr<Stream> Stream::start(Context& context) {
    join(take_running([](const Stream& stream) { return stream.has_ended(); }), {});
    auto stream = std::make_shared<Stream>(context);
    const base::WithoutSignals signals;
    const std::scoped_lock lock(threads().mutex);
    try {
        threads().running.push_back({stream, std::thread([stream] { stream->run(); })});
    } catch (const std::system_error&) {
        return nullptr;
    }
    return stream;
}

Stream::Stream(Context& context) : context_(context), connection_(Connection::next()) {}

void Stream::push(Work work) {
    if (captured_) return;
    const std::scoped_lock lock(mutex_);
    waiting_.push_back({std::move(work), connection_ ? connection_->enter() : 0});
    ++pushed_;
    changed_.notify_all();
}

void Stream::synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, until = pushed_] { return done_ >= until || has_ended(); });
}

void Stream::finish() {
    const std::scoped_lock lock(mutex_);
    finishing_ = true;
    changed_.notify_all();
}

void Stream::cancel() {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
}

bool Stream::wait_for_end(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return has_ended(); });
}

bool Stream::is_this_thread() {
    return is_stream_thread;
}

void Stream::take_turns(std::unique_lock<std::mutex>& lock) {
    for (;;) {
        changed_.wait(lock, [this] { return !waiting_.empty() || finishing_ || cancelled_; });
        if (waiting_.empty() || cancelled_) return;
        // The delay is before the work and not after it. So a caller that does not wait sees the
        // former state.
        if (settings().delay.count() > 0)
            changed_.wait_until(lock, Clock::now() + settings().delay,
                                [this] { return cancelled_.load(); });
        if (cancelled_) return;
        do_next(lock);
        changed_.notify_all();
    }
}

void Stream::do_next(std::unique_lock<std::mutex>& lock) {
    Queued next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (connection_ && !connection_->wait_for_turn(next.place, cancelled_)) {
        lock.lock();
        waiting_.push_front(std::move(next));
        return;
    }
    next.work();
    next.work = nullptr;
    if (connection_) connection_->leave(next.place);
    lock.lock();
    ++done_;
}

void Stream::run() {
    is_stream_thread = true;
    pthread_setname_np(pthread_self(), "simulated-gpu");
    // The kernels need the default environment, whatever the creator of this thread had.
    std::fesetenv(FE_DFL_ENV);
    std::unique_lock lock(mutex_);
    take_turns(lock);
    for (Queued& left : waiting_) {
        if (connection_) connection_->leave(left.place);
        const std::scoped_lock threads_lock(threads().mutex);
        threads().left.push_back(std::move(left.work));
    }
    waiting_.clear();
    ended_ = true;
    changed_.notify_all();
}

void synchronize_streams(const Context& context) {
    std::vector<std::shared_ptr<Stream>> streams;
    {
        const std::scoped_lock lock(threads().mutex);
        for (const Running& one : threads().running)
            if (&one.stream->context() == &context) streams.push_back(one.stream);
    }
    for (const auto& stream : streams) stream->synchronize();
}

void end_streams(const Context* context) {
    auto ending = take_running(
        [&](const Stream& stream) { return context == nullptr || &stream.context() == context; });
    for (const Running& one : ending) one.stream->cancel();
    join(std::move(ending), Clock::now() + kEndMax);
}

}  // namespace pace::simulated_gpu
