// Gain: what the choice is worth beside what the job does now, and how sure that is as far as chance goes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/simulator/outcome.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

// Effective updates per second of the choice over those of the other, for each seed.
struct Gain {
    Candidate choice;
    Candidate
        over;  // what the job does now, else all-reduce; if that is the choice, the second best
    bool keeps = false;          // the choice is what the job does now
    std::vector<double> ratios;  // the predictions' seed first

    double mean() const;
    double least() const;
    double most() const;
};

inline constexpr uint32_t kSeeds = 5;

// The choice and the other one with kSeeds seeds, both with the same steps; with so few updates that it takes no longer than a
// small job's prediction. Nothing if there is but one candidate. `predictions` are the scenario's.
base::Result<std::optional<Gain>> gain_of(const Scenario& scenario,
                                          std::span<const Prediction> predictions);

// One sentence: what to choose, what to expect of it, and between what bounds it was.
std::string sentence_of(const Gain& gain);

}  // namespace pace::simulator
