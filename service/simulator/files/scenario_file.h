// Reads scenario files: TOML, as README.md describes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/simulator/model/scenario.h"

namespace pace::simulator {

inline constexpr uint64_t kBytesMax = uint64_t{1} << 40U;  // of a model

// `file` is the document's name in messages.
base::Result<Scenario> parse_scenario(std::string_view document, std::string_view file);

base::Result<Scenario> read_scenario(const std::string& path);

// The number of measured updates of the average worker if nobody gives one. It is enough for two or
// three digits of small jobs, and no more than large jobs can afford.
uint32_t usual_steps(uint64_t workers);

// Checks whether the candidates make sense for the scenario's world. The command line may change a
// scenario, so it is checked again.
base::Result<> check_candidates(const Scenario& scenario);

}  // namespace pace::simulator
