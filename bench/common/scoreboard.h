// scoreboard.h: shared memory in which the workers of one measurement meet and write down their
// times, whatever they measure.
//
// Every implementation uses the same barrier, so that its own barrier is no part of its figure. The
// namespaces that play nodes share a file system and a monotonic clock, so this works there too.
//
// All zero is the state before the first worker arrives, so creating the file needs no order. Rank 0
// alone sets the phase, before it goes to the barrier; the others read it after the barrier.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pace::bench {

constexpr uint32_t kWorldMax = 16;
constexpr uint32_t kSamplesMax = 4096;

enum class Phase : uint32_t { kWarmUp = 0, kMeasure = 1, kEnd = 2 };

class Scoreboard {
  public:
    // Maps the file, making it if this worker is the first. Ends the process when that fails.
    Scoreboard(const std::string& path, uint32_t world, uint32_t rank);
    ~Scoreboard();
    Scoreboard(const Scoreboard&) = delete;
    Scoreboard& operator=(const Scoreboard&) = delete;

    // Returns when all workers have called it. Calls `progress` while it waits: a library that moves
    // its last bytes only inside its own calls would otherwise hold up a peer that needs them.
    void meet(const std::function<void()>& progress);

    Phase phase() const { return board_->phase.load(std::memory_order_acquire); }
    void set_phase(Phase phase) { board_->phase.store(phase, std::memory_order_release); }

    void record(uint32_t sample, double seconds) { board_->samples[sample][rank_] = seconds; }
    void set_peak_rss(uint64_t bytes) { board_->peak_rss[rank_] = bytes; }

    // The longest time of any worker, for each of the first `count` samples.
    std::vector<double> slowest(uint32_t count) const;
    uint64_t peak_rss_max() const;

  private:
    struct Board {
        std::atomic<uint32_t> arrived;
        std::atomic<uint32_t> generation;
        std::atomic<Phase> phase;
        std::array<uint64_t, kWorldMax> peak_rss;
        std::array<std::array<double, kWorldMax>, kSamplesMax> samples;
    };

    Board* board_ = nullptr;
    uint32_t world_;
    uint32_t rank_;
};

}  // namespace pace::bench
