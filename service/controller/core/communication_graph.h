// The communication graph of a job: who may average with whom (JobOptions::edges, of policy ad-psgd).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::controller {

// Pairs of ranks, one after another; each pair once, the lower rank first, in order: however workers write down one graph, it
// compares equal. Or a sentence that says what is wrong with them: they must join all of `world` workers.
base::Result<std::vector<uint32_t>> check_edges(const std::vector<uint32_t>& edges, uint32_t world);

// "0-3 too, not 1-2": what `asked` has beyond `of_job`, and lacks. Both as check_edges returns them, and not equal.
std::string edge_differences(const std::vector<uint32_t>& asked,
                             const std::vector<uint32_t>& of_job);

}  // namespace pace::controller
