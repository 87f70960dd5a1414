#include "service/simulator/choice/gain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "service/simulator/choice/choice.h"
#include "service/simulator/files/scenario_file.h"
#include "service/simulator/runs/predict.h"

namespace pace::simulator {

namespace {

std::optional<Candidate> second_best(std::span<const Prediction> predictions,
                                     const Candidate& best) {
    std::vector<Prediction> others;
    for (const Prediction& prediction : predictions)
        if (prediction.candidate != best) others.push_back(prediction);
    if (others.empty()) return std::nullopt;
    return others[best_of(others)].candidate;
}

std::string percent(double ratio) {
    const double tenths = std::round(1000 * (ratio - 1));
    return tenths == 0 ? "0.0 %" : fmt::format("{:+.1f} %", tenths / 10);
}

// The candidate with which the choice is compared, unless the choice is that candidate: what the
// job does now, otherwise all-reduce if it is tried.
std::optional<Candidate> usual(const Scenario& scenario, std::span<const Prediction> predictions) {
    if (scenario.now) return scenario.now;
    const bool is_tried = std::any_of(
        predictions.begin(), predictions.end(),
        [](const Prediction& prediction) { return prediction.candidate == Candidate{}; });
    return is_tried ? std::optional(Candidate{}) : std::nullopt;
}

}  // namespace

double Gain::mean() const {
    return std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(ratios.size());
}

double Gain::least() const {
    return *std::min_element(ratios.begin(), ratios.end());
}

double Gain::most() const {
    return *std::max_element(ratios.begin(), ratios.end());
}

base::Result<std::optional<Gain>> gain_of(const Scenario& scenario,
                                          std::span<const Prediction> predictions) {
    Gain gain;
    gain.choice = predictions[best_of(predictions)].candidate;
    std::optional<Candidate> over = usual(scenario, predictions);
    gain.keeps = !over || *over == gain.choice;
    if (gain.keeps) over = second_best(predictions, gain.choice);
    if (!over) return std::optional<Gain>();
    gain.over = *over;
    Scenario shorter = scenario;
    shorter.steps = std::min(scenario.steps, usual_steps(scenario.world()));
    for (uint32_t i = 0; i < kSeeds; ++i) {
        shorter.seed = scenario.seed + i;
        PACE_TRY_ASSIGN(choice, predict(shorter, gain.choice));
        PACE_TRY_ASSIGN(other, predict(shorter, gain.over));
        gain.ratios.push_back(choice.effective_per_s() / other.effective_per_s());
    }
    return std::optional<Gain>(gain);
}

std::string sentence_of(const Gain& gain) {
    const std::string bounds = fmt::format("{} to {} with {} seeds", percent(gain.least()),
                                           percent(gain.most()), gain.ratios.size());
    const std::string expected =
        fmt::format("{} effective updates per second ({})", percent(gain.mean()), bounds);
    if (gain.keeps)
        return fmt::format("Choose {}: expect {} beside {}, the next best.", text_of(gain.choice),
                           expected, text_of(gain.over));
    if (gain.least() <= 1)
        return fmt::format("Stay with {}: {} is expected to make {}, which may be chance.",
                           text_of(gain.over), text_of(gain.choice), expected);
    return fmt::format("Choose {}: expect {} over {}.", text_of(gain.choice), expected,
                       text_of(gain.over));
}

}  // namespace pace::simulator
