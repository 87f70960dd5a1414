// Stream: pieces of work that a thread of its own does one after the other, while whoever hands them in goes on.
//
// Really asynchronous, so that a missing wait shows. Whoever holds a Stream may use it; its thread holds it until its work is done, so that
// a stream that was destroyed finishes in the background.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace pace::simulated_gpu {

class Connection;
class Context;

class Stream {
  public:
    using Work = std::function<void()>;

    // Null if no thread can be had.
    static std::shared_ptr<Stream> start(Context& context);
    explicit Stream(Context& context);
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    Context& context() const { return context_; }

    void push(Work work);
    // Returns when all that was pushed before has been done, or never will be.
    void synchronize();
    // Ends the thread after the work that it has.
    void finish();
    // Ends the thread after the piece at hand; the others are never done.
    void cancel();
    // Set by cancel(); for work that waits.
    const std::atomic<bool>& cancelled() const { return cancelled_; }
    // Its thread does nothing any more.
    bool has_ended() const { return ended_; }
    // False: the piece at hand is not done by then.
    bool wait_for_end(std::chrono::steady_clock::time_point deadline);

    // Whether the calling thread is a stream's.
    static bool is_this_thread();

  private:
    struct Queued {
        Work work;
        uint64_t place = 0;  // in the connection
    };

    void run();
    void do_next(std::unique_lock<std::mutex>& lock);
    void take_turns(std::unique_lock<std::mutex>& lock);

    Context& context_;
    std::mutex mutex_;
    std::condition_variable changed_;
    const std::shared_ptr<Connection> connection_;  // null: nobody else's
    std::deque<Queued> waiting_;
    uint64_t pushed_ = 0;
    uint64_t done_ = 0;
    bool finishing_ = false;
    std::atomic<bool> cancelled_{false};
    std::atomic<bool> ended_{false};
};

// Cancels the streams of a context (null: all), the destroyed ones too, and waits for the pieces at hand; not for ever, since a host
// function may never return. Not from a stream's thread: that one is not waited for.
void end_streams(const Context* context);

}  // namespace pace::simulated_gpu
