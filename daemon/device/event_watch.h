// EventWatch: events of trainers' streams and of ours, asked for until the streams have come to them.
//
// No stream of ours waits for another process. A context has few queues on its GPU, and streams beyond these share them: a wait that
// takes long, or whose trainer is killed meanwhile, would hold whatever else has come into its queue. Nor does a stream call the host:
// that stops it until the host has answered, and a failed device never calls. So the host asks, each time after an eighth of the time that
// it has waited by then, within limits: it learns of each event at most so much too late.
//
// All of it belongs to the loop's thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cuda_driver.h"
#include "base/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::device {

class Device;

class EventWatch : private base::Poller {
  public:
    using Callback = std::function<void(const base::Result<>&)>;

    // The device outlives it.
    static base::Result<std::unique_ptr<EventWatch>> create(const Device& device,
                                                            base::EventLoop& loop);
    ~EventWatch() override;
    EventWatch(const EventWatch&) = delete;
    EventWatch& operator=(const EventWatch&) = delete;

    // Calls back from the loop when what the event was recorded behind has ended, or the device has failed; those of one `owner` one
    // after the other. Null: no event, it comes once those before it have.
    void add(const void* owner, base::cuda::CUevent event, Callback callback);
    // Of what this owner has added nothing comes any more: its events may be closed then.
    void forget(const void* owner);
    void forget_all();

  private:
    struct Awaited {
        base::cuda::CUevent event = nullptr;
        Callback callback;
    };
    struct Line {
        std::deque<Awaited> events;  // never empty
        base::TimePoint since;       // when the first of them began to be asked for
    };

    EventWatch(const Device& device, base::EventLoop& loop, base::UniqueFd timer);

    bool poll() override;
    bool arm() override;

    // Takes those that have come.
    void take(Line& line, base::TimePoint now,
              std::vector<std::pair<Callback, base::Result<>>>& ret_due);
    void plan(base::TimePoint now);

    const Device& device_;
    base::EventLoop& loop_;
    base::UniqueFd timer_;
    std::map<const void*, Line> lines_;  // by owner
    base::TimePoint next_look_;
};

}  // namespace pace::device
