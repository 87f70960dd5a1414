// scoreboard.h: shared memory in which the workers of one measurement meet and record their times,
// whatever they measure.
//
// Every implementation uses the same barrier, so that its own barrier is no part of its figure. The
// namespaces that play nodes share a file system and a monotonic clock. So the scoreboard works in
// them, too.
//
// All zeros are the state before the first worker arrives, so the workers may create the file in
// any order. Only rank 0 sets the phase, before it goes to the barrier. The others read the phase
// after the barrier.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pace::bench {

constexpr uint32_t kWorldMax = 32;
constexpr uint32_t kSamplesMax = 4096;

enum class Phase : uint32_t { kWarmUp = 0, kMeasure = 1, kEnd = 2 };

// A worker's account of the whole measurement.
struct Account {
    uint64_t peak_rss_bytes = 0;
    // The share of its exchanges for which the worker was in time.
    double in_time = 0;
    // The bytes that its network interface received for an exchange, on average.
    uint64_t wire_bytes = 0;
    // The same bytes as the implementation counts them. 0 means that it does not count them.
    uint64_t payload_bytes = 0;
    uint64_t result_hash = 0;  // of the checked exchange
};

class Scoreboard {
  public:
    // Maps the file, and creates it if this worker is the first. Ends the process on a failure.
    Scoreboard(const std::string& path, uint32_t world, uint32_t rank);
    ~Scoreboard();
    Scoreboard(const Scoreboard&) = delete;
    Scoreboard& operator=(const Scoreboard&) = delete;

    uint32_t world() const { return world_; }

    // Returns when all workers have called this function. Calls `progress` while it waits. A
    // library that moves its last bytes only inside its own calls would otherwise delay a peer that
    // needs them. With an empty `progress` the function sleeps instead, so that working processes
    // have the processors.
    void meet(const std::function<void()>& progress);

    // Returns when the last worker came to the meeting that has just ended. The value is the same
    // for all workers, and valid until the next meeting.
    std::chrono::steady_clock::time_point met_at() const;

    Phase phase() const { return board_->phase.load(std::memory_order_acquire); }
    void set_phase(Phase phase) { board_->phase.store(phase, std::memory_order_release); }

    void record(uint32_t sample, double seconds) { board_->samples[sample][rank_] = seconds; }

    // Returns the longest and the mean time of the workers, for each of the first `count` samples.
    std::vector<double> slowest(uint32_t count) const;
    std::vector<double> mean(uint32_t count) const;

    // A worker writes its account before a meeting. Others read it after the meeting.
    Account& account() { return board_->accounts[rank_]; }
    const Account& account_of(uint32_t rank) const { return board_->accounts[rank]; }

  private:
    struct Board {
        std::atomic<uint32_t> arrived;
        std::atomic<uint32_t> generation;
        std::atomic<Phase> phase;
        std::atomic<int64_t> met_at_ns;
        std::array<Account, kWorldMax> accounts;
        std::array<std::array<double, kWorldMax>, kSamplesMax> samples;
    };

    Board* board_ = nullptr;
    uint32_t world_;
    uint32_t rank_;
};

}  // namespace pace::bench
