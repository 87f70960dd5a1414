// What scenario files say of how the job may run: [try], and [now], how it runs already.
#pragma once

#include "base/result.h"
#include "service/simulator/file_table.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

// Of which a message says something: a density's least.
inline constexpr double kDensityMin = 1e-6;

// What is tried when nobody says: the usual policies, groups of these sizes below `world`, no quorum, no compression; and what is
// taken for spardl and ssp.
void try_usual(uint32_t world, Scenario& ret_scenario);

base::Result<> read_now(const FileTable& file, Scenario& ret_scenario);
base::Result<> read_try(const FileTable& file, Scenario& ret_scenario);

}  // namespace pace::simulator
