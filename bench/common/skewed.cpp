#include "bench/common/skewed.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench/common/check.h"
#include "bench/common/counters.h"
#include "bench/common/report.h"

namespace pace::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kWarmUpIterations = 3;
// The time from the meeting until worker 0's delay begins. It is enough for 32 processes to wake. A
// guess.
constexpr std::chrono::milliseconds kSettle{3};

// The lateness is what is measured. So this sleep is the method itself.
void be_late_until(Clock::time_point when) {
    const auto since = when.time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    const timespec target{.tv_sec = seconds.count(),
                          .tv_nsec = std::chrono::nanoseconds(since - seconds).count()};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &target, nullptr) == EINTR) {
    }
}

// The results that one worker has got: whole numbers, the same in all elements.
class Receipts {
  public:
    Receipts(const Options& options, const Subject& subject)
        : options_(options), subject_(subject) {}

    void add() {
        ++exchanges_;
        if (!subject_.in_time) {
            check_elements(options_, subject_.buffer, subject_.expected);
            return;
        }
        check_elements(options_, subject_.buffer, subject_.buffer.front());
        sum_ += static_cast<double>(subject_.buffer.front());
    }

    double sum() const { return sum_; }
    double brought() const { return static_cast<double>(subject_.expected) * exchanges_; }

  private:
    const Options& options_;
    const Subject& subject_;
    uint32_t exchanges_ = 0;
    double sum_ = 0;
};

void check_receipts(const Options& options, const Scoreboard& board, const Receipts& receipts) {
    const auto of_first = static_cast<double>(board.account_of(0).result_hash);
    if (receipts.sum() == of_first && receipts.sum() <= receipts.brought()) return;
    std::fprintf(stderr, "rank %u was given %g in all, rank 0 %g; %g was brought\n", options.rank,
                 receipts.sum(), of_first, receipts.brought());
    std::exit(1);
}

}  // namespace

void measure_skewed(const Options& options, Scoreboard& board, const Subject& subject) {
    const std::chrono::duration<double, std::milli> delay(options.skew_ms * (options.rank + 1));
    const uint32_t samples = std::min(options.iterations, kSamplesMax);
    Receipts receipts(options, subject);
    uint32_t in_time = 0;
    for (uint32_t i = 0; i < kWarmUpIterations + samples; ++i) {
        std::ranges::fill(subject.buffer, static_cast<float>(options.rank + 1));
        board.meet(subject.progress);
        be_late_until(board.met_at() + kSettle +
                      std::chrono::duration_cast<Clock::duration>(delay));
        const Clock::time_point start = Clock::now();
        subject.exchange();
        const std::chrono::duration<double> taken = Clock::now() - start;
        // No check takes a processor from a worker that is still in the exchange.
        board.meet(subject.progress);
        receipts.add();
        if (i < kWarmUpIterations) continue;
        board.record(i - kWarmUpIterations, taken.count());
        if (!subject.in_time || subject.in_time()) ++in_time;
    }
    board.account().in_time = static_cast<double>(in_time) / samples;
    board.account().peak_rss_bytes = peak_rss_bytes();
    board.account().result_hash = static_cast<uint64_t>(receipts.sum());
    board.meet(subject.progress);
    check_receipts(options, board, receipts);
    if (options.rank == 0) write_report(options, board, board.mean(samples), subject.version);
}

}  // namespace pace::bench
