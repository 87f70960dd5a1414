// Board: one file of shared memory. The workers of a run and its evaluator exchange their state in
// it.
//
//   head     the run's size and start; how many models the evaluator has asked for; the stop flag
//   slots    one per worker: steps done, exchanges counted, and how many models it has handed in
//   models   one per worker: the last model it handed in
//
// The evaluator asks for a model by raising `wanted`. A worker that sees this between two exchanges
// copies its parameters to its place and sets `handed_in` to `wanted`. The worker does not touch
// the copy until the evaluator asks again. So each copy has one writer or one reader, and never
// both. The board is only the demo's measuring instrument. Everything that the workers learn from
// each other goes through Pace.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

namespace demo {

static_assert(std::atomic<int64_t>::is_always_lock_free, "the board is shared by processes");

// Time on the monotonic clock, which all processes of a machine share.
int64_t now_ns();

struct BoardSlot {
    alignas(64) std::atomic<uint64_t> steps;
    std::atomic<uint64_t> exchanges;  // those that this worker counts
    std::atomic<uint64_t> handed_in;
    std::atomic<int64_t> handed_in_ns;
};

class Board {
  public:
    // The evaluator creates the board. The workers open it. Both functions throw
    // std::runtime_error.
    static Board create(const std::string& path, uint32_t workers, uint64_t parameters);
    static Board open(const std::string& path, uint32_t workers, uint64_t parameters);

    Board(Board&& other) noexcept;
    Board& operator=(Board&&) = delete;
    ~Board();

    // For the workers. The clock of the run begins with start(). hand_in() does nothing unless a
    // new model is wanted.
    void start();
    void hand_in(uint32_t rank, std::span<const float> parameters);

    // For the evaluator. Waits for the start, or until every worker has handed in the model that
    // was requested last.
    void wait_for_start();
    void ask_for_models();
    void wait_for_models();

    std::span<float> model(uint32_t rank) const;
    BoardSlot& slot(uint32_t rank) const { return slots_[rank]; }
    uint32_t workers() const;
    int64_t started_ns() const;
    bool should_stop() const;
    void stop();

  private:
    struct Head;

    Board(void* memory, size_t bytes);

    size_t bytes_;
    Head* head_;
    BoardSlot* slots_;
};

}  // namespace demo
