#include "service/controller/core/groups/forecast.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/random.h"
#include "service/controller/vocabulary/options.h"

namespace pace::controller {

namespace {

constexpr uint32_t kSmartSize = 3;
// With fewer workers, the slow one is in most of the others' groups.
constexpr uint32_t kSmartLeast = 12;
constexpr uint32_t kSizes[] = {2, 3, 4, 5, 8, 12, 16};

// Coefficients of variation of steps: below kInStep workers stay in step with each other, above
// kOutOfStep they do not.
constexpr double kInStep = 0.1;
constexpr double kOutOfStep = 0.3;

constexpr double kAlikeFactor = 1.25;  // of the median step: as fast as most
constexpr int kDraws = 4096;           // draws of steps to find the slowest of many: some 20 us

bool is_everyone(const JobPace& pace, const Shape& shape) {
    return shape.policy == Policy::full || shape.group_size >= pace.steps_s.size();
}

// ------------------------------------------------------------------------------------------- steps

double median_of(std::vector<double> numbers) {
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    return *middle;
}

// The average of the longest of one step of each worker. The draws always use the same random
// numbers, so that noise of ours never decides.
double longest_s(const std::vector<double>& steps_s, const std::vector<double>& variations) {
    if (variations.empty()) return *std::max_element(steps_s.begin(), steps_s.end());
    base::Random random(1);
    const int rounds = std::clamp(kDraws / static_cast<int>(steps_s.size()), 4, 256);
    double sum = 0;
    for (int round = 0; round < rounds; ++round) {
        double longest = 0;
        for (const double step : steps_s)
            longest = std::max(longest, step * variations[random.below(variations.size())]);
        sum += longest;
    }
    return sum / rounds;
}

// 1: workers of equal speed signal together; 0: workers signal at any time.
double synchrony_of(const JobPace& pace) {
    double squares = 0;
    for (const double variation : pace.variations) squares += (variation - 1) * (variation - 1);
    const auto count = static_cast<double>(std::max<size_t>(pace.variations.size(), 1));
    const double deviation = std::sqrt(squares / count);
    return std::clamp((kOutOfStep - deviation) / (kOutOfStep - kInStep), 0.0, 1.0);
}

// 0: all are equally fast; 1: the slowest takes at least twice the median.
double unevenness_of(const JobPace& pace) {
    const double slowest = *std::max_element(pace.steps_s.begin(), pace.steps_s.end());
    return std::clamp(std::log2(slowest / median_of(pace.steps_s)), 0.0, 1.0);
}

// --------------------------------------------------------------------------------------- exchanges

// The cost of an exchange: what a node sums, and what it sends. In arbitrary units, for comparison.
double weight_of(const JobPace& pace, const Shape& shape) {
    const auto workers = static_cast<double>(
        std::min<size_t>(shape.policy == Policy::full ? pace.steps_s.size() : shape.group_size,
                         pace.steps_s.size()));
    const double nodes = std::min<double>(pace.nodes, workers);
    // By chance, more than the proportional part of a small group is on one node.
    const bool by_chance = !is_everyone(pace, shape) && pace.workers_of_node > 1;
    const double together = std::min(static_cast<double>(pace.workers_of_node),
                                     std::max(1.0, workers / nodes) * (by_chance ? 1.25 : 1));
    const double sent = nodes > 1 ? 2 * (nodes - 1) / nodes : 0;
    return together + sent;
}

// The number of other groups' exchanges that a worker's exchange may meet on its node, if all other
// workers there were exchanging.
double others_of(const JobPace& pace, const Shape& shape) {
    if (is_everyone(pace, shape)) return 0;
    const double groups = static_cast<double>(pace.steps_s.size()) / shape.group_size;
    const double others = std::min(pace.workers_of_node - 1.0, groups - 1);
    // Smart groups of one division begin together, but half of them stay within their nodes.
    return shape.policy == Policy::prague_smart ? others / 2 : others;
}

// The factor by which others on the node slow an exchange of `moving_s`. Each of the others
// exchanges for its share of the time.
double crowding(double others, double moving_s, double step_s) {
    return 1 + others * moving_s / (step_s + moving_s);
}

double crowded_s(double alone_s, double others, double step_s) {
    double moving_s = alone_s;
    for (int i = 0; i < 30; ++i) moving_s = alone_s * crowding(others, moving_s, step_s);
    return moving_s;
}

// The measured time if there is one. Otherwise an estimate from the shape nearest in weight: the
// time that its exchange takes alone, scaled by the weights, with crowding added again.
double exchange_s(const JobPace& pace, const Shape& shape) {
    const auto own = pace.exchanges.find(shape);
    if (own != pace.exchanges.end()) return own->second.whole_s;
    const double weight = weight_of(pace, shape);
    const auto distance = [&](const auto& known) {
        return std::abs(std::log(weight_of(pace, known.first) / weight));
    };
    const auto nearest =
        std::min_element(pace.exchanges.begin(), pace.exchanges.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    if (nearest == pace.exchanges.end()) return 0;
    const auto& [known, times] = *nearest;
    const double step_s = median_of(pace.steps_s);
    const double alone_s = times.moving_s * weight / weight_of(pace, known) /
                           crowding(others_of(pace, known), times.moving_s, step_s);
    return times.whole_s - times.moving_s + crowded_s(alone_s, others_of(pace, shape), step_s);
}

// ---------------------------------------------------------------------------------------- policies

// Each step adds 1 - 1/N to a worker's squared distance from the mean of all. A random group of P
// of N removes the differences of its members. The two balance at (N - 1) (N - P) / (N^2 (P - 1)).
// Workers in step meet the same partners more often, and a slow one brings an old model.
double spread_of(const JobPace& pace, uint32_t group_size) {
    const auto workers = static_cast<double>(pace.steps_s.size());
    const double random =
        (workers - 1) * (workers - group_size) / (workers * workers * (group_size - 1));
    return random * (1 + 0.5 * synchrony_of(pace) + 0.5 * unevenness_of(pace));
}

Forecast forecast_full(const JobPace& pace, const Shape& shape) {
    const double round_s = longest_s(pace.steps_s, pace.variations) + exchange_s(pace, shape);
    return {static_cast<double>(pace.steps_s.size()) / round_s, 0};
}

double rate_of(const JobPace& pace, double added_s) {
    double rate = 0;
    for (const double step : pace.steps_s) rate += 1 / (step + added_s);
    return rate;
}

// The share of the rate that is left if, in a window of T groups, one is held for a bridge, for
// about as long as a group takes to fill.
double share_not_held(const JobPace& pace, uint32_t group_size) {
    constexpr double kHeld = 0.7;  // of the windows
    const auto least = (pace.steps_s.size() - 1 + group_size - 2) / (group_size - 1);
    return 1 / (1 + kHeld / static_cast<double>(2 * least));
}

// If signals come at any time, each waits for (P - 1) / 2 more on average.
double rate_out_of_step(const JobPace& pace, uint32_t group_size, double exchange) {
    double rate = rate_of(pace, exchange);
    for (int i = 0; i < 20; ++i)
        rate = (rate + rate_of(pace, exchange + (group_size - 1) / (2 * rate))) / 2;
    return rate * share_not_held(pace, group_size);
}

// Workers of equal speed signal together. A worker left over when they form groups waits for the
// next time. 0: there are too few for a group of their own.
double rate_in_step(const JobPace& pace, uint32_t group_size, double exchange) {
    const double usual = kAlikeFactor * median_of(pace.steps_s);
    std::vector<double> fast;
    double rate = 0;
    for (const double step : pace.steps_s) {
        if (step <= usual) {
            fast.push_back(step);
        } else {
            rate += 1 / (step + exchange);
        }
    }
    if (fast.size() < group_size) return 0;
    const size_t grouped = fast.size() - fast.size() % group_size;
    rate += static_cast<double>(grouped) / (longest_s(fast, pace.variations) + exchange);
    // Equal workers in step seldom need a bridge; a slow worker has none for long.
    return rate * (1 + unevenness_of(pace) * (share_not_held(pace, group_size) - 1));
}

Forecast forecast_partial(const JobPace& pace, const Shape& shape) {
    const double exchange = exchange_s(pace, shape);
    const double out = rate_out_of_step(pace, shape.group_size, exchange);
    const double share = synchrony_of(pace) / 2;
    const double in = share > 0 ? rate_in_step(pace, shape.group_size, exchange) : 0;
    return {in > 0 ? out + share * (in - out) : out, spread_of(pace, shape.group_size)};
}

// Fast workers wait for the slowest of their group, which has similar progress. If several nodes
// have several workers, half of the groups are within nodes, which mixes less.
Forecast forecast_smart(const JobPace& pace, const Shape& shape) {
    const double uneven = unevenness_of(pace);
    const std::vector<double> alike(shape.group_size, 1);
    const double wait = longest_s(alike, pace.variations);
    const double exchange = exchange_s(pace, shape);
    double rate = 0;
    for (const double step : pace.steps_s) rate += 1 / (wait * step + exchange);
    const bool by_node = pace.workers_of_node > 1 && pace.nodes > 1;
    return {rate * (1 - 0.2 * uneven), spread_of(pace, shape.group_size) + (by_node ? 0.3 : 0)};
}

}  // namespace

std::string text_of(const Shape& shape) {
    if (shape.policy == Policy::full) return std::string(name_of(shape.policy));
    return fmt::format("{} of {}", name_of(shape.policy), shape.group_size);
}

Forecast forecast(const JobPace& pace, const Shape& shape) {
    if (pace.steps_s.size() < 2 || is_everyone(pace, shape)) return forecast_full(pace, shape);
    return shape.policy == Policy::prague_smart ? forecast_smart(pace, shape)
                                                : forecast_partial(pace, shape);
}

std::vector<Shape> shapes_for(uint32_t workers) {
    std::vector<Shape> shapes{{Policy::full, 0}};
    for (const uint32_t size : kSizes)
        if (size < workers) shapes.push_back({Policy::partial_reduce, size});
    if (workers >= kSmartLeast) shapes.push_back({Policy::prague_smart, kSmartSize});
    return shapes;
}

}  // namespace pace::controller
