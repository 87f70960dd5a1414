// Gain: how much better the choice is than what the job does now, and how much this depends on
// chance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/simulator/model/scenario.h"
#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

// The choice's effective updates per second, divided by the other candidate's, for each seed.
struct Gain {
    Candidate choice;
    // What the job does now, otherwise all-reduce. If that is the choice, the second best.
    Candidate over;
    bool keeps = false;          // the choice is what the job does now
    std::vector<double> ratios;  // the predictions' seed first

    double mean() const;
    double least() const;
    double most() const;
};

inline constexpr uint32_t kSeeds = 5;

// Simulates the choice and the other candidate with kSeeds seeds. Both have the same steps. The
// number of updates is limited, so that this takes no longer than a small job's prediction. Returns
// nothing if there is only one candidate. `predictions` are the scenario's predictions.
base::Result<std::optional<Gain>> gain_of(const Scenario& scenario,
                                          std::span<const Prediction> predictions);

// Returns one sentence: what to choose, what to expect, and the bounds of the measured ratios.
std::string sentence_of(const Gain& gain);

}  // namespace pace::simulator
