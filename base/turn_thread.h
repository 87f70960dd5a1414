// TurnThread: long work for several askers, off the event loop. It is done a piece at a time, and the askers take turns, so that
// who wants little does not wait for all that another wants.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "base/condition.h"

namespace pace::base {

class TurnThread {
  public:
    // Does a piece, of some milliseconds. True: there is more to do.
    using Piece = std::function<bool()>;

    TurnThread() = default;
    // Waits for the piece at hand. What has not been done is dropped.
    ~TurnThread();
    TurnThread(const TurnThread&) = delete;
    TurnThread& operator=(const TurnThread&) = delete;

    // One asker's works are done one after the other. Threads: any. Blocks: no. The thread begins with the first. Throws std::bad_alloc,
    // and nothing is done, where there is no memory to keep the work or no thread to do it. A piece for which there is no memory is the
    // work's last.
    void run(uint64_t asker, Piece piece);

  private:
    // Has works, of which the first is under way if the asker is at hand.
    struct Asker {
        uint64_t id = 0;
        std::deque<Piece> works;
    };

    void work_off();

    std::mutex mutex_;
    Condition changed_;
    std::list<Asker> askers_;  // who comes first is next
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pace::base
