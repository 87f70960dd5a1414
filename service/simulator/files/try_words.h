// What the command line says about how a job may run, in words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/simulator/model/scenario.h"

namespace pace::simulator {

// Adds the words of "--policy" and its like to what the scenario tries.
base::Result<> try_policies(std::span<const std::string> words, Scenario& ret_scenario);
base::Result<> try_quorums(std::span<const std::string> words, Scenario& ret_scenario);
base::Result<> try_compressions(std::span<const std::string> words, Scenario& ret_scenario);

// "solo", "majority", "majority-strict". Returns nothing for another word.
std::optional<controller::Quorum> quorum_named(std::string_view word);

// A number of bytes, or one with a unit: "100 MB".
base::Result<uint64_t> parse_size(std::string_view text);

}  // namespace pace::simulator
