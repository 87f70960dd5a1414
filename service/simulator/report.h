// Reports: predictions as a table for people and as a JSON document for programs.
#pragma once

#include <span>
#include <string>

#include "service/simulator/outcome.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

// The scenario in a line, a row for each prediction, and the advice.
std::string table(const Scenario& scenario, std::span<const Prediction> predictions);

// {"scenario": {…}, "predictions": [{…}], "choice": {…}}; times in seconds, shares from 0 to 1.
std::string document(const Scenario& scenario, std::span<const Prediction> predictions);

}  // namespace pace::simulator
