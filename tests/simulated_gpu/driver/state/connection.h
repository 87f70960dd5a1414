// Connection: a queue of the GPU that several streams share. The work in the queue is done in the
// order in which it came. So a piece of work that waits holds up the work of other streams behind
// it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace pace::simulated_gpu {

class Connection {
  public:
    // Returns the connection of the next stream, in turn. Null means that each stream has its own
    // (PACE_SIMULATED_GPU_CONNECTIONS).
    static std::shared_ptr<Connection> next();

    // Returns the place of a piece of work in the queue.
    uint64_t enter();
    // Returns when all earlier pieces have left. Returns false if the stream was cancelled
    // meanwhile.
    bool wait_for_turn(uint64_t place, const std::atomic<bool>& cancelled);
    void leave(uint64_t place);

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<uint64_t> places_;  // in ascending order
    uint64_t entered_ = 0;
};

}  // namespace pace::simulated_gpu
