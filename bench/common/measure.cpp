#include "bench/common/measure.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "bench/common/check.h"
#include "bench/common/counters.h"
#include "bench/common/gradient.h"
#include "bench/common/report.h"
#include "bench/common/skewed.h"

namespace pace::bench {

namespace {

using Clock = std::chrono::steady_clock;

// A guess that is enough for connections, page tables and branch predictors at every size.
constexpr double kWarmUpShare = 0.15;
constexpr uint32_t kWarmUpIterationsMin = 2;
// Residuals grow fast at first. Ok-Topk finds its thresholds anew in every 32nd exchange, and sends
// several times too much until then.
constexpr uint32_t kSparseWarmUpIterationsMin = 34;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Rank 0's decision after each iteration.
class Conductor {
  public:
    explicit Conductor(const Options& options) : options_(options) {}

    Phase next(Phase phase, uint32_t iterations, uint32_t samples) {
        const double elapsed = seconds_since(start_);
        if (phase == Phase::kWarmUp) {
            const bool warm = iterations >= warm_up_iterations_min() &&
                              elapsed >= kWarmUpShare * options_.seconds;
            if (!warm) return Phase::kWarmUp;
            start_ = Clock::now();
            return Phase::kMeasure;
        }
        const bool enough = samples >= options_.iterations_min && elapsed >= options_.seconds;
        return enough || samples == kSamplesMax ? Phase::kEnd : Phase::kMeasure;
    }

  private:
    uint32_t warm_up_iterations_min() const {
        return options_.density > 0 ? kSparseWarmUpIterationsMin : kWarmUpIterationsMin;
    }

    const Options& options_;
    Clock::time_point start_ = Clock::now();
};

// The network traffic of one worker's exchanges, according to the interface's counter and to the
// implementation.
class Traffic {
  public:
    Traffic(const Options& options, const Subject& subject)
        : options_(options), subject_(subject) {}

    // Must be called before and after each measured exchange.
    void begin() {
        if (!wire_begin_) wire_begin_ = interface_received_bytes(options_.interface);
    }
    void add() {
        if (subject_.received) payload_ += subject_.received();
    }
    void write(Account& account, uint32_t samples) const {
        if (samples == 0) return;
        const uint64_t wire =
            interface_received_bytes(options_.interface) - wire_begin_.value_or(0);
        account.wire_bytes = wire / samples;
        account.payload_bytes = payload_ / samples;
    }

  private:
    const Options& options_;
    const Subject& subject_;
    std::optional<uint64_t> wire_begin_;
    uint64_t payload_ = 0;
};

// A dense buffer keeps its zeros, which stay zeros however often they are summed. A sparse buffer
// gets its gradient again when no worker is in the call any more.
void prepare(Scoreboard& board, const Subject& subject, const std::vector<float>& gradient) {
    if (gradient.empty()) return;
    board.meet(subject.progress);
    std::ranges::copy(gradient, subject.buffer.begin());
    if (subject.prepare) subject.prepare();
}

// Makes exchanges that all workers begin together. Returns the number of measured exchanges.
uint32_t exchange_together(const Options& options, Scoreboard& board, const Subject& subject,
                           const std::vector<float>& gradient, Traffic& traffic) {
    Conductor conductor(options);
    uint32_t iterations = 0;
    uint32_t samples = 0;
    for (;;) {
        prepare(board, subject, gradient);
        board.meet(subject.progress);
        const Phase phase = board.phase();
        if (phase == Phase::kEnd) return samples;
        if (phase == Phase::kMeasure) traffic.begin();
        const Clock::time_point start = Clock::now();
        subject.exchange();
        if (phase == Phase::kMeasure) {
            board.record(samples++, seconds_since(start));
            traffic.add();
        }
        ++iterations;
        // No exchange ends before every worker has begun it, so all have read the phase by now.
        if (options.rank == 0) board.set_phase(conductor.next(phase, iterations, samples));
    }
}

void measure_together(const Options& options, Scoreboard& board, const Subject& subject) {
    std::vector<float> gradient;
    if (options.density > 0) {
        gradient = make_gradient(subject.buffer.size(), options.rank);
        prepare(board, subject, gradient);
        check_sparse_exchange(options, board, subject);
    } else {
        check_dense_exchange(options, board, subject);
    }
    Traffic traffic(options, subject);
    const uint32_t samples = exchange_together(options, board, subject, gradient, traffic);
    traffic.write(board.account(), samples);
    board.account().peak_rss_bytes = peak_rss_bytes();
    board.meet(subject.progress);
    if (options.rank == 0) write_report(options, board, board.slowest(samples), subject.version);
}

}  // namespace

void measure(const Options& options, Scoreboard& board, const Subject& subject) {
    if (options.skew_ms > 0)
        measure_skewed(options, board, subject);
    else
        measure_together(options, board, subject);
}

}  // namespace pace::bench
