// Reads the cluster of scenario files: [network], [step], [[nodes]], [[workers]].
#pragma once

#include "base/result.h"
#include "service/simulator/files/file_table.h"
#include "service/simulator/model/scenario.h"

namespace pace::simulator {

inline constexpr uint64_t kWorkersMax = 65536;  // the controller's limit

// Guesses for values that the file does not give: a cluster's Ethernet, and a controller a few hops
// away.
inline constexpr double kLinkGbit = 10;
inline constexpr double kMemoryGbytesPerS = 10;
inline constexpr double kLatencyUs = 50;
inline constexpr double kControllerUs = 500;

base::Result<> read_cluster(const FileTable& file, Scenario& ret_scenario);

}  // namespace pace::simulator
