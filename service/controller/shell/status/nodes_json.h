// The nodes of the status document, with their GPUs, and the links between them, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "service/controller/core/status/status.h"

namespace pace::controller {

// Adds "nodes", "links" and "cut_links", and how many of each, and of the GPUs, are left out since
// there is no room for them.
void add_nodes(const StatusView& view, nlohmann::json& json);

}  // namespace pace::controller
