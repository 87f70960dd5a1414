// Connection: a queue of the GPU's that several streams share. Their work is done in the order in which it came into the queue, so that
// a piece that waits holds what other streams have put behind it.
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
    // The next stream's, in turn; null: each stream has its own (PACE_SIMULATED_GPU_CONNECTIONS).
    static std::shared_ptr<Connection> next();

    // The place of a piece of work in the queue.
    uint64_t enter();
    // Returns when all before it have left; false: the stream was cancelled meanwhile.
    bool wait_for_turn(uint64_t place, const std::atomic<bool>& cancelled);
    void leave(uint64_t place);

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<uint64_t> places_;  // in order
    uint64_t entered_ = 0;
};

}  // namespace pace::simulated_gpu
