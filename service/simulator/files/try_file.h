// Reads how a job may run, [try], and how it runs already, [now], from scenario files.
#pragma once

#include "base/result.h"
#include "service/simulator/files/file_table.h"
#include "service/simulator/model/scenario.h"

namespace pace::simulator {

// The least density. A message names it.
inline constexpr double kDensityMin = 1e-6;

// Sets what is tried if nobody says: the usual policies, groups of the usual sizes below `world`,
// no quorum, no compression. Also sets the values for spardl and ssp.
void try_usual(uint32_t world, Scenario& ret_scenario);

base::Result<> read_now(const FileTable& file, Scenario& ret_scenario);
base::Result<> read_try(const FileTable& file, Scenario& ret_scenario);

}  // namespace pace::simulator
