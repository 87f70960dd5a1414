// Communication graph: which workers of a job may average with each other (JobOptions::edges, of
// policy ad-psgd).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::controller {

// Returns the edges in normal form, so that equal graphs compare equal: pairs of ranks, one after
// another, in order, each pair once and the lower rank first. The error says what is wrong with the
// edges. They must connect all of `world` workers.
base::Result<std::vector<uint32_t>> check_edges(const std::vector<uint32_t>& edges, uint32_t world);

// The differences, as in "0-3 too, not 1-2": the edges that `asked` has in addition, and those that
// it lacks. Both are as check_edges returns them, and not equal.
std::string edge_differences(const std::vector<uint32_t>& asked,
                             const std::vector<uint32_t>& of_job);

}  // namespace pace::controller
