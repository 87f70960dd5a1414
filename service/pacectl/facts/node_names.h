// NodeNames: the names of the nodes in the controller's status document.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

using NodeNames = std::map<uint64_t, std::string>;

NodeNames node_names(const Json& status);
// "node 7" for a node that the document does not name.
std::string name_of_node(const NodeNames& names, uint64_t node);

}  // namespace pace::pacectl
