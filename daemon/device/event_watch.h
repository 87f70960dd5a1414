// EventWatch: polls what tells how far the trainers' streams and ours have come: events, and words
// that the trainers' streams write (base/cuda/stream_words.h).
//
// None of our streams waits for another process. A context has few queues on its GPU, and further
// streams share them: a long wait, or one whose trainer is killed, would block all other work in
// its queue. Streams do not call the host either: such a call stops a stream until the host has
// answered, and a failed device never calls. So the host polls. The interval is an eighth of the
// time waited so far, within limits, so an event is noticed at most that much too late.
//
// Used only in the loop's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cuda/cuda_driver.h"
#include "base/loop/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::device {

class Device;

class EventWatch : private base::Poller {
  public:
    using Callback = std::function<void(const base::Result<>&)>;

    // `device` must outlive the watch.
    static base::Result<std::unique_ptr<EventWatch>> create(Device& device, base::EventLoop& loop);
    ~EventWatch() override;
    EventWatch(const EventWatch&) = delete;
    EventWatch& operator=(const EventWatch&) = delete;

    // Calls back from the loop when the work before the event has ended, or the device has failed.
    // Callbacks of one `owner` come in the order of add(). A null event counts as reached once the
    // owner's earlier events are.
    void add(const void* owner, base::cuda::CUevent event, Callback callback);
    // The same for a word, which is reached once it has come to the request.
    void add(const void* owner, const std::atomic<uint64_t>* word, uint64_t request,
             Callback callback);
    // Drops all callbacks of this owner; its events may be closed afterwards.
    void forget(const void* owner);
    void forget_all();

  private:
    struct Awaited {
        base::cuda::CUevent event = nullptr;
        const std::atomic<uint64_t>* word = nullptr;  // instead of the event
        uint64_t request = 0;
        Callback callback;
    };
    struct Line {
        std::deque<Awaited> events;  // never empty
        base::TimePoint since;       // when polling of the first event began
    };

    EventWatch(Device& device, base::EventLoop& loop, base::UniqueFd timer);

    bool poll() override;
    bool arm() override;

    struct Due {
        Callback callback;
        base::cuda::CUresult state = base::cuda::kSuccess;
    };
    void add(const void* owner, Awaited awaited);
    base::cuda::CUresult state_of(const Awaited& awaited) const;
    // Removes the reached events from the line and collects their callbacks.
    void take(Line& line, base::TimePoint now, std::vector<Due>& ret_due);
    void plan(base::TimePoint now);

    Device& device_;
    base::EventLoop& loop_;
    base::UniqueFd timer_;
    std::map<const void*, Line> lines_;  // by owner
    base::TimePoint next_look_;
};

}  // namespace pace::device
