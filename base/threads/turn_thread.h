// TurnThread: does long work for several askers, in another thread than the event loop. The thread
// does the work a piece at a time, and the askers take turns. So an asker with little work does not
// wait for all the work of another asker.
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
    // Does one piece of work, of some milliseconds. Returns true if there is more to do.
    using Piece = std::function<bool()>;

    TurnThread() = default;
    // Waits for the piece of work that runs now. Work that was not done is dropped.
    ~TurnThread();
    TurnThread(const TurnThread&) = delete;
    TurnThread& operator=(const TurnThread&) = delete;

    // Queues a work. The works of one asker are done one after another. Threads: any. Blocks: no.
    // The thread begins with the first work. Throws std::bad_alloc if there is no memory to queue
    // the work or if no thread can begin. Then nothing is done. If a piece of a work finds no
    // memory, that work ends.
    void run(uint64_t asker, Piece piece);

  private:
    // An asker with its works. While the thread serves the asker, its first work is under way.
    struct Asker {
        uint64_t id = 0;
        std::deque<Piece> works;
    };

    void work_off();

    std::mutex mutex_;
    Condition changed_;
    std::list<Asker> askers_;  // the first one is served next
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pace::base
