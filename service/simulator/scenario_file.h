// Scenario files: TOML, as README.md describes them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

inline constexpr uint64_t kBytesMax = uint64_t{1} << 40U;  // of a model

// `file` is the document's name in messages.
base::Result<Scenario> parse_scenario(std::string_view document, std::string_view file);

base::Result<Scenario> read_scenario(const std::string& path);

// The updates of the average worker that are measured if nobody says how many: enough for two or three digits of small jobs, and
// no more than large ones can afford.
uint32_t usual_steps(uint64_t workers);

// Whether the candidates make sense for the scenario's world: what the command line changes in a
// scenario is checked once more.
base::Result<> check_candidates(const Scenario& scenario);

}  // namespace pace::simulator
