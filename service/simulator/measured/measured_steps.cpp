#include "service/simulator/measured/measured_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "service/simulator/measured/rounded.h"

namespace pace::simulator {

namespace {

constexpr double kAssumedCv = 0.1;
// The bounds of cv. If steps do not vary at all, the order of signals repeats forever. Above the
// greater bound, a few samples tell nothing.
constexpr double kLeastCv = 0.01;
constexpr double kMostCv = 2;
constexpr size_t kTurnsMin = 20;   // the least number of turns that give a spread
constexpr size_t kWorkersMin = 4;  // the least number of workers whose last steps give a spread
// Turns are steps if their average differs from the measured steps by less than this factor.
constexpr double kAlike = 1.25;
constexpr double kEqual = 0.01;     // medians that differ by less than this are equal
constexpr double kFactorMax = 1e3;  // the limit of a scenario

double median_of(std::vector<double> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return numbers[numbers.size() / 2];
}

// The time from the end of one exchange to the next signal of the same worker, divided by the
// worker's median step. If a worker announces its signals, it signals before its step ends.
std::vector<double> turns_of(const MeasuredJob& job) {
    std::map<uint64_t, double> median_ms;
    for (const MeasuredWorker& worker : job.workers) median_ms[worker.rank] = worker.step_ms;
    std::map<uint64_t, std::vector<MeasuredTurn>> by_rank;
    for (const MeasuredGroup& group : job.groups)
        for (const MeasuredTurn& turn : group.turns) by_rank[turn.rank].push_back(turn);
    std::vector<double> ratios;
    for (auto& [rank, turns] : by_rank) {
        std::sort(turns.begin(), turns.end(),
                  [](const auto& a, const auto& b) { return a.signalled_us < b.signalled_us; });
        for (size_t i = 1; i < turns.size() && median_ms[rank] > 0; ++i) {
            const uint64_t ended = turns[i - 1].ended_us;
            if (ended == 0 || turns[i].signalled_us <= ended) continue;
            const auto step_us = static_cast<double>(turns[i].signalled_us - ended);
            ratios.push_back(step_us / 1e3 / median_ms[rank]);
        }
    }
    return ratios;
}

// Returns the exponential of the logarithms' mean. For a lognormal distribution this is the median.
double middle_of(const std::vector<double>& ratios) {
    double sum = 0;
    for (const double ratio : ratios) sum += std::log(ratio);
    return std::exp(sum / static_cast<double>(ratios.size()));
}

// Returns the cv of a lognormal distribution whose logarithms are this far from the middle's
// logarithm.
double cv_of(const std::vector<double>& ratios, double middle) {
    double squares = 0;
    for (const double ratio : ratios) squares += std::pow(std::log(ratio / middle), 2);
    const double variance = std::min(squares / static_cast<double>(ratios.size()), 100.0);
    return std::clamp(std::sqrt(std::expm1(variance)), kLeastCv, kMostCv);
}

void vary(const MeasuredJob& job, MeasuredSteps& ret_steps) {
    const std::vector<double> turns = turns_of(job);
    const double middle = turns.empty() ? 0 : middle_of(turns);
    if (turns.size() >= kTurnsMin && middle < kAlike && middle > 1 / kAlike) {
        ret_steps.cv = rounded(cv_of(turns, middle));
        ret_steps.notes.push_back(fmt::format(
            "Steps vary by {:.0f} % (lognormal), measured over {} steps of recent groups.",
            100 * ret_steps.cv, turns.size()));
        return;
    }
    std::vector<double> last;
    for (const MeasuredWorker& worker : job.workers)
        if (worker.step_ms > 0 && worker.step_last_ms > 0)
            last.push_back(worker.step_last_ms / worker.step_ms);
    ret_steps.cv = last.size() < kWorkersMin ? kAssumedCv : rounded(cv_of(last, 1));
    if (last.size() < kWorkersMin)
        ret_steps.notes.push_back(fmt::format(
            "Assumed: steps vary by {:.0f} % (lognormal); too few were measured to tell.",
            100 * kAssumedCv));
    else
        ret_steps.notes.push_back(fmt::format(
            "Steps vary by {:.0f} % (lognormal), roughly: measured by the last step of {} workers.",
            100 * ret_steps.cv, last.size()));
}

}  // namespace

MeasuredSteps steps_of(const MeasuredJob& job) {
    MeasuredSteps steps;
    std::vector<double> known;
    for (const MeasuredWorker& worker : job.workers)
        if (worker.step_ms > 0) known.push_back(worker.step_ms);
    if (known.empty()) return steps;
    steps.median_ms = std::max(rounded(median_of(known)), 0.001);
    for (const MeasuredWorker& worker : job.workers) {
        const double factor = worker.step_ms > 0 ? worker.step_ms / steps.median_ms : 1;
        const bool is_equal = std::abs(factor - 1) < kEqual;
        steps.factors.push_back(is_equal ? 1
                                         : rounded(std::clamp(factor, 1 / kFactorMax, kFactorMax)));
    }
    const size_t unknown = job.workers.size() - known.size();
    if (unknown > 0)
        steps.notes.push_back(
            fmt::format("Assumed: {} of {} workers, which have measured no step yet, take the "
                        "median {:.4g} ms.",
                        unknown, job.workers.size(), steps.median_ms));
    vary(job, steps);
    return steps;
}

}  // namespace pace::simulator
