// ClusterRecordings: the recordings of other nodes, fetched through this node's daemon and the
// controller, one part after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// Rows of all nodes together: of more nodes each gives fewer, its newest. A guess at what a viewer
// still opens.
inline constexpr uint64_t kRowsMax = 2'000'000;

// The nodes that a status document shows as alive.
std::vector<std::string> nodes_alive(const Json& status);

// Asks a node for a part: its records from a number on.
using AskForPart = std::function<base::Result<Json>(const std::string& node, uint64_t from)>;

// One node's recording as its daemon would give it here, of at most `rows_max` rows, the newest.
// Fails with `corrupt` if what comes makes no sense.
base::Result<Json> recording_of(const std::string& node, uint64_t rows_max, const AskForPart& ask);

}  // namespace pace::pacectl
