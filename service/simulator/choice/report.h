// Reports: predictions as a table for people and as a JSON document for programs.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "service/simulator/choice/gain.h"
#include "service/simulator/model/scenario.h"
#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

// The scenario in one line and its notes, a row for each prediction, the advice, and finally the
// gain in one sentence.
std::string table(const Scenario& scenario, std::span<const Prediction> predictions,
                  const std::optional<Gain>& gain);

// {"scenario": {…}, "predictions": [{…}], "choice": {…}, "gain": {…}}. Times are in seconds. Shares
// are 0 to 1.
std::string document(const Scenario& scenario, std::span<const Prediction> predictions,
                     const std::optional<Gain>& gain);

}  // namespace pace::simulator
