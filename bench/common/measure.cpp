#include "bench/common/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace pace::bench {

namespace {

using Clock = std::chrono::steady_clock;

// A guess that is enough for connections, page tables and branch predictors at every size.
constexpr double kWarmUpShare = 0.15;
constexpr uint32_t kWarmUpIterationsMin = 2;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// VmHWM of this process, 0 when /proc does not tell.
uint64_t peak_rss_bytes() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word != "VmHWM:") continue;
        uint64_t kilobytes = 0;
        status >> kilobytes;
        return kilobytes * 1024;
    }
    return 0;
}

void check_exchange(const Options& options, Scoreboard& board, const Subject& subject) {
    std::ranges::fill(subject.buffer, static_cast<float>(options.rank + 1));
    board.meet(subject.progress);
    subject.exchange();
    for (size_t i = 0; i < subject.buffer.size(); ++i) {
        const float difference = subject.buffer[i] - subject.expected;
        if (difference < 1e-3F && difference > -1e-3F) continue;
        std::fprintf(stderr, "rank %u: element %zu is %g, not %g\n", options.rank, i,
                     static_cast<double>(subject.buffer[i]), static_cast<double>(subject.expected));
        std::exit(1);
    }
    // Zeros stay zeros however often they are summed.
    std::ranges::fill(subject.buffer, 0.0F);
}

// Rank 0's decision after each iteration.
class Conductor {
  public:
    explicit Conductor(const Options& options) : options_(options) {}

    Phase next(Phase phase, uint32_t iterations, uint32_t samples) {
        const double elapsed = seconds_since(start_);
        if (phase == Phase::kWarmUp) {
            const bool warm =
                iterations >= kWarmUpIterationsMin && elapsed >= kWarmUpShare * options_.seconds;
            if (!warm) return Phase::kWarmUp;
            start_ = Clock::now();
            return Phase::kMeasure;
        }
        const bool enough = samples >= options_.iterations_min && elapsed >= options_.seconds;
        return enough || samples == kSamplesMax ? Phase::kEnd : Phase::kMeasure;
    }

  private:
    const Options& options_;
    Clock::time_point start_ = Clock::now();
};

void write_report(const Options& options, const Scoreboard& board, uint32_t samples,
                  const std::string& version) {
    std::FILE* file = std::fopen(options.out.c_str(), "w");
    if (file == nullptr) {
        std::perror(options.out.c_str());
        std::exit(2);
    }
    std::fprintf(file, "{\"version\": \"%s\", \"peak_rss_bytes\": %llu, \"samples_s\": [",
                 version.c_str(), static_cast<unsigned long long>(board.peak_rss_max()));
    const char* separator = "";
    for (const double seconds : board.slowest(samples)) {
        std::fprintf(file, "%s%.9f", separator, seconds);
        separator = ", ";
    }
    std::fprintf(file, "]}\n");
    std::fclose(file);
}

}  // namespace

float expected_sum(const Options& options) {
    return static_cast<float>(options.world) * static_cast<float>(options.world + 1) / 2;
}

void measure(const Options& options, Scoreboard& board, const Subject& subject) {
    check_exchange(options, board, subject);

    Conductor conductor(options);
    Phase phase = Phase::kWarmUp;
    uint32_t iterations = 0;
    uint32_t samples = 0;
    for (;;) {
        board.meet(subject.progress);
        phase = board.phase();
        if (phase == Phase::kEnd) break;
        const Clock::time_point start = Clock::now();
        subject.exchange();
        if (phase == Phase::kMeasure) board.record(samples++, seconds_since(start));
        ++iterations;
        // No exchange ends before every worker has begun it, so all have read the phase by now.
        if (options.rank == 0) board.set_phase(conductor.next(phase, iterations, samples));
    }

    board.set_peak_rss(peak_rss_bytes());
    board.meet(subject.progress);
    if (options.rank == 0) write_report(options, board, samples, subject.version);
}

}  // namespace pace::bench
