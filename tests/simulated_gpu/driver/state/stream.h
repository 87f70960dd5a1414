// Stream: pieces of work that a thread of the stream's own does one after the other. The caller
// goes on meanwhile.
//
// The work is really asynchronous, so that a missing wait shows. Code that holds a Stream may use
// it. The stream's thread holds the Stream until its work is done. So a destroyed stream finishes
// in the background.
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

    // Returns null if no thread can be started.
    static std::shared_ptr<Stream> start(Context& context);
    explicit Stream(Context& context);
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    Context& context() const { return context_; }

    // Drops the work while the stream is captured: a capture runs nothing.
    void push(Work work);
    // See captures.h.
    bool is_captured() const { return captured_; }
    void set_captured(bool captured) { captured_ = captured; }
    // Returns when all earlier work has been done, or will never be done.
    void synchronize();
    // Ends the thread after the work that it has.
    void finish();
    // Ends the thread after the current piece. The other pieces are never done.
    void cancel();
    // Set by cancel(), for work that waits.
    const std::atomic<bool>& cancelled() const { return cancelled_; }
    // Returns whether the thread has stopped working.
    bool has_ended() const { return ended_; }
    // Returns false if the current piece is not done by then.
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
    const std::shared_ptr<Connection> connection_;  // null means that the stream shares no queue
    std::deque<Queued> waiting_;
    uint64_t pushed_ = 0;
    uint64_t done_ = 0;
    bool finishing_ = false;
    std::atomic<bool> cancelled_{false};
    std::atomic<bool> ended_{false};
    std::atomic<bool> captured_{false};
};

// Returns when all work that the streams of a context have by now is done, or will never be done.
void synchronize_streams(const Context& context);

// Cancels the streams of a context, including destroyed streams, and waits for their current
// pieces. Null means all contexts. The wait is bounded, because a host function may never return.
// The function does not wait for a stream whose thread calls it.
void end_streams(const Context* context);

}  // namespace pace::simulated_gpu
