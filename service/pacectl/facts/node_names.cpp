#include "service/pacectl/facts/node_names.h"

namespace pace::pacectl {

NodeNames node_names(const Json& status) {
    NodeNames names;
    for (const Json& node : list(status, "nodes")) names[count(node, "node")] = text(node, "name");
    return names;
}

std::string name_of_node(const NodeNames& names, uint64_t node) {
    const auto name = names.find(node);
    return name == names.end() ? fmt::format("node {}", node) : name->second;
}

}  // namespace pace::pacectl
