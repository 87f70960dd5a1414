// Makes a scenario from a running job's measurements: the file that a user with these measurements
// could have written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/simulator/model/scenario.h"

namespace pace::simulator {

struct FromStatus {
    std::string file;   // TOML; says what was measured and what was assumed
    Scenario scenario;  // read from `file`, with the same notes
};

// `source` is the status document's name in messages. `bytes` is the model's size, if the user
// knows it.
base::Result<FromStatus> scenario_from_status(std::string_view document, std::string_view source,
                                              std::string_view job, std::optional<uint64_t> bytes);

}  // namespace pace::simulator
