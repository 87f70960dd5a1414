#include "service/controller/core/members/slowness.h"

#include <algorithm>

#include <fmt/format.h>

namespace pace::controller {
namespace {

// Guesses: below these factors the slowest worker counts as normal.
constexpr double kStepFactor = 1.5;
constexpr double kLinkFactor = 3;
// The share of exchanges in the time of steps and exchanges; below this share no link holds anybody
// up.
constexpr double kExchangeShare = 0.25;
// A step counts as long after this many of the median worker's steps, and this time.
constexpr int kLongSteps = 5;
constexpr Duration kLongLeast = std::chrono::seconds(1);
constexpr Duration kSilentLeast = std::chrono::milliseconds(500);
constexpr Duration kLookEvery = std::chrono::milliseconds(500);

// The lower median, so that of two workers the slower one stands out. 0 if nothing is known.
Duration median_of(const std::vector<Pace>& paces, Duration Pace::*time) {
    std::vector<Duration> times;
    for (const Pace& pace : paces)
        if ((pace.*time).count() > 0) times.push_back(pace.*time);
    if (times.empty()) return {};
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

double ratio(Duration time, Duration of) {
    return of.count() == 0 ? 1
                           : static_cast<double>(time.count()) / static_cast<double>(of.count());
}

std::string text_of(Duration time) {
    const double seconds = base::to_seconds(time);
    if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
    return fmt::format("{:.{}f} ms", seconds * 1e3, seconds >= 0.01 ? 0 : 1);
}

struct Medians {
    Duration step;
    Duration exchange;
    Duration mebibyte;
};

std::optional<Slowness> stands_still(const Pace& pace, const Medians& medians) {
    if (pace.stopped)
        return Slowness{SlowWhy::stopped, std::max(ratio(*pace.stopped, medians.step), 1.0),
                        *pace.stopped,
                        fmt::format("its process has been stopped by a signal for {}; SIGCONT lets "
                                    "it go on",
                                    text_of(*pace.stopped))};
    if (pace.silent && *pace.silent >= kSilentLeast)
        return Slowness{
            SlowWhy::link, std::max(ratio(*pace.silent, medians.step), 1.0), *pace.silent,
            fmt::format("nothing has been heard of its node for {}", text_of(*pace.silent))};
    return std::nullopt;
}

std::optional<Slowness> computes_long(const Pace& pace, const Medians& medians) {
    if (medians.step.count() == 0) return std::nullopt;
    const double factor = ratio(pace.step, medians.step);
    const bool is_long = pace.activity == Activity::computing && pace.active >= kLongLeast &&
                         pace.active >= kLongSteps * std::max(pace.step, medians.step);
    if (is_long)
        return Slowness{
            SlowWhy::computing, ratio(pace.active, medians.step), pace.active,
            fmt::format("it has been computing for {}, and the median worker's step takes {}",
                        text_of(pace.active), text_of(medians.step))};
    if (factor < kStepFactor) return std::nullopt;
    return Slowness{SlowWhy::computing, factor, Duration{},
                    fmt::format("it computes {} a step, the median worker {}", text_of(pace.step),
                                text_of(medians.step))};
}

std::optional<Slowness> has_slow_link(const Pace& pace, const Medians& medians) {
    const double factor =
        medians.mebibyte.count() == 0 ? 1 : ratio(pace.mebibyte, medians.mebibyte);
    if (factor < kLinkFactor || pace.exchange.count() == 0) return std::nullopt;
    const double share = ratio(pace.exchange, pace.exchange + pace.step);
    if (share < kExchangeShare) return std::nullopt;
    return Slowness{SlowWhy::link, factor, Duration{},
                    fmt::format("a mebibyte takes {} on its node's links, on the median node's {}",
                                text_of(pace.mebibyte), text_of(medians.mebibyte))};
}

std::optional<Slowness> waits_long(const Pace& pace, const Medians& medians) {
    const bool is_long = pace.activity == Activity::waiting && pace.active >= 2 * kLongLeast &&
                         pace.active >= kLongSteps * medians.step;
    if (!is_long) return std::nullopt;
    return Slowness{
        SlowWhy::waiting, std::max(ratio(pace.active, medians.step), 1.0), pace.active,
        fmt::format("it has waited for {}, and nobody is seen to be slow", text_of(pace.active))};
}

}  // namespace

std::string_view name_of(SlowWhy why) {
    switch (why) {
        case SlowWhy::computing:
            return "computing";
        case SlowWhy::link:
            return "link";
        case SlowWhy::stopped:
            return "stopped";
        case SlowWhy::waiting:
            return "waiting";
    }
    return "?";
}

std::vector<std::optional<Slowness>> SlowWorkers::judge(const std::vector<Pace>& paces,
                                                        TimePoint now) const {
    const Medians medians{median_of(paces, &Pace::step), median_of(paces, &Pace::exchange),
                          median_of(paces, &Pace::mebibyte)};
    std::vector<std::optional<Slowness>> found;
    bool any = false;
    for (const Pace& pace : paces) {
        std::optional<Slowness> slow = stands_still(pace, medians);
        if (!slow) slow = computes_long(pace, medians);
        if (!slow) slow = has_slow_link(pace, medians);
        const auto known = known_.find(pace.rank);
        if (slow && known != known_.end() && known->second.why == slow->why)
            slow->since = std::max(slow->since, now - known->second.since);
        any = any || slow;
        found.push_back(std::move(slow));
    }
    if (any) return found;
    for (size_t i = 0; i < paces.size(); ++i) found[i] = waits_long(paces[i], medians);
    return found;
}

void SlowWorkers::look(const std::vector<Pace>& paces, TimePoint now) {
    due_ = now + kLookEvery;
    const auto found = judge(paces, now);
    std::map<Rank, Known> known;
    for (size_t i = 0; i < paces.size(); ++i)
        if (found[i]) known[paces[i].rank] = {found[i]->why, now - found[i]->since};
    known_ = std::move(known);
}

}  // namespace pace::controller
