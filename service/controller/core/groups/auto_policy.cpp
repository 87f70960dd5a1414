#include "service/controller/core/groups/auto_policy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace pace::controller {

namespace {

constexpr uint32_t kFirstSize = 3;
constexpr uint32_t kStepsKept = 32;  // in a mean
constexpr uint32_t kStepsKnown = 3;  // steps of a worker until its pace is known
constexpr double kStray = 2;         // above the mean times this, or below the mean over this
constexpr int32_t kStraysMax = 6;    // in a row: the worker's pace has changed
constexpr double kSilent = 5;        // median steps, for a worker that has not finished a step

constexpr double kGain = 1.1;           // minimum gain of a change
constexpr double kGainUnchanged = 1.4;  // if all is as at the last change
constexpr double kSameFactor = 1.8;     // for a worker's steps to count as unchanged
constexpr uint32_t kInRow = 2;
constexpr uint32_t kRestMax = 16;  // evaluations

bool is_within(double a, double b, double factor) {
    return a <= factor * b && b <= factor * a;
}

std::map<NodeId, uint32_t> count_nodes(const std::vector<AutoPolicy::Present>& present) {
    std::map<NodeId, uint32_t> nodes;
    for (const AutoPolicy::Present& worker : present) ++nodes[worker.node];
    return nodes;
}

std::string worth_text(const Forecast& forecast) {
    return fmt::format("{:.3g} updates/s, worth {:.3g} on one common model", forecast.updates_per_s,
                       forecast.effective_per_s());
}

std::string steps_text(const JobPace& pace) {
    const auto [least, most] = std::minmax_element(pace.steps_s.begin(), pace.steps_s.end());
    return fmt::format("workers' steps differ {:.1f}x", *most / *least);
}

}  // namespace

AutoPolicy::AutoPolicy(uint32_t world)
    : shape_{Policy::partial_reduce, std::clamp(world, 2U, kFirstSize)},
      reason_("to begin with, until the steps of every worker are measured"),
      workers_(world) {}

// ------------------------------------------------------------------------------------ observations

void AutoPolicy::on_step(Rank rank, Duration step) {
    const double step_s = base::to_seconds(step);
    if (step_s <= 0) return;
    ++steps_;
    Steps& worker = workers_[rank];
    if (worker.count >= kStepsKnown) {
        variations_[variations_seen_ % kVariations] = step_s / worker.mean_s;
        ++variations_seen_;
    }
    const int32_t side = worker.count == 0                 ? 0
                         : step_s > kStray * worker.mean_s ? 1
                         : step_s < worker.mean_s / kStray ? -1
                                                           : 0;
    const bool goes_on = side != 0 && (worker.strays == 0 || (worker.strays > 0) == (side > 0));
    worker.strays = goes_on ? worker.strays + side : side;
    worker.stray_s = goes_on ? worker.stray_s + step_s : step_s;
    if (std::abs(worker.strays) >= kStraysMax) {
        worker = {worker.stray_s / kStraysMax, kStraysMax, 0, 0};
        return;
    }
    worker.count = std::min(worker.count + 1, kStepsKept);
    worker.mean_s += (step_s - worker.mean_s) / worker.count;
}

void AutoPolicy::on_exchange(Duration whole, Duration moving) {
    ++exchanges_seen_;
    ExchangeTimes& times = exchanges_[shape_];
    const double whole_s = base::to_seconds(whole);
    const double moving_s =
        moving.count() == 0 ? whole_s : std::min(base::to_seconds(moving), whole_s);
    const double share = 1.0 / static_cast<double>(std::min<uint64_t>(exchanges_seen_, 64));
    times.whole_s += (whole_s - times.whole_s) * share;
    times.moving_s += (moving_s - times.moving_s) * share;
}

void AutoPolicy::forget(Rank rank) {
    workers_[rank] = {};
}

// Nothing until the pace of every worker is known, from its steps or because its present step takes
// conspicuously long.
std::optional<JobPace> AutoPolicy::pace_of(const std::vector<Present>& present) const {
    std::vector<double> known;
    for (const Present& worker : present)
        if (workers_[worker.rank].count >= kStepsKnown)
            known.push_back(workers_[worker.rank].mean_s);
    if (2 * known.size() < present.size() || known.empty()) return std::nullopt;
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
    std::nth_element(known.begin(), middle, known.end());
    const double median_s = *middle;

    JobPace pace;
    for (const Present& worker : present) {
        const Steps& steps = workers_[worker.rank];
        const double computing_s = base::to_seconds(worker.computing);
        const bool is_known = steps.count >= kStepsKnown;
        if (!is_known && computing_s < kSilent * median_s) return std::nullopt;
        const double usual_s = is_known ? steps.mean_s : 0;
        // A step that takes only a little longer than the others says nothing yet.
        pace.steps_s.push_back(computing_s > kSilent * usual_s ? computing_s : usual_s);
    }
    const auto kept =
        static_cast<std::ptrdiff_t>(std::min<uint64_t>(variations_seen_, kVariations));
    pace.variations.assign(variations_.begin(), variations_.begin() + kept);
    const std::map<NodeId, uint32_t> nodes = count_nodes(present);
    pace.nodes = static_cast<uint32_t>(nodes.size());
    for (const auto& [node, workers] : nodes)
        pace.workers_of_node = std::max(pace.workers_of_node, workers);
    pace.exchanges = exchanges_;
    return pace;
}

// ----------------------------------------------------------------------------------------- choices

bool AutoPolicy::is_as_before(const std::vector<Present>& present, const JobPace& pace) const {
    if (switches_ == 0) return false;
    size_t before = 0;
    for (const double step : steps_before_) before += step > 0 ? 1 : 0;
    if (before != present.size()) return false;
    for (size_t i = 0; i < present.size(); ++i)
        if (!is_within(pace.steps_s[i], steps_before_[present[i].rank], kSameFactor)) return false;
    return true;
}

void AutoPolicy::remember(const std::vector<Present>& present, const JobPace& pace) {
    steps_before_.assign(workers_.size(), 0);
    for (size_t i = 0; i < present.size(); ++i) steps_before_[present[i].rank] = pace.steps_s[i];
}

bool AutoPolicy::evaluate(const std::vector<Present>& present) {
    if (present.size() < 2) return false;
    const std::optional<JobPace> pace = pace_of(present);
    if (!pace) {
        steps_ -= std::min<uint64_t>(steps_, present.size());
        return false;
    }
    steps_ = 0;
    Shape best = shape_;
    double most = forecast(*pace, shape_).effective_per_s();
    const double least = most * (is_as_before(present, *pace) ? kGainUnchanged : kGain);
    for (const Shape& shape : shapes_for(static_cast<uint32_t>(present.size()))) {
        const double worth = forecast(*pace, shape).effective_per_s();
        if (worth < least || worth <= most) continue;
        best = shape;
        most = worth;
    }
    better_ = best == shape_ ? 0 : better_ + 1;
    rest_ -= rest_ > 0 ? 1 : 0;
    const bool is_first = !std::exchange(has_evaluated_, true);
    if (better_ >= kInRow && rest_ == 0) {
        remember(present, *pace);
        return change_to(best, *pace);
    }
    if (!is_first || best != shape_) return false;
    reason_ = fmt::format("nothing else is worth a tenth more: {}, this makes about {}",
                          steps_text(*pace), worth_text(forecast(*pace, shape_)));
    return true;
}

bool AutoPolicy::change_to(const Shape& best, const JobPace& pace) {
    reason_ = fmt::format("instead of {}: {}, {} would make about {}; this makes about {}",
                          text_of(shape_), steps_text(pace), text_of(shape_),
                          worth_text(forecast(pace, shape_)), worth_text(forecast(pace, best)));
    shape_ = best;
    ++switches_;
    better_ = 0;
    rest_ = switches_ < 5 ? std::min(kRestMax, 1U << switches_) : kRestMax;
    exchanges_seen_ = 0;
    return true;
}

}  // namespace pace::controller
