#include "service/pacectl/verbs/node.h"

#include <chrono>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "libclient/link/tool_link.h"
#include "service/pacectl/console/output.h"

namespace pace::pacectl {

NodeCommand::NodeCommand(CLI::App& app) {
    CLI::App* const node = app.add_subcommand("node", "Nodes.")->require_subcommand(1);
    drain_ = node->add_subcommand(
        "drain",
        "Takes a node out of use: its workers leave their jobs, which go on without them, and no "
        "others join there. As root, or as the user of the daemon.");
    drain_->add_option("name", name_, "The node's name, as `pacectl status` has it.")->required();
    undrain_ = node->add_subcommand("undrain", "Puts a node back into use.");
    undrain_->add_option("name", name_, "The node's name.")->required();
    for (CLI::App* command : {drain_, undrain_})
        command->add_flag("--json", json_, "What was done, for programs.");
}

bool NodeCommand::is_parsed() const {
    return drain_->parsed() || undrain_->parsed();
}

int NodeCommand::run(const client::Endpoint& endpoint) const {
    auto link = client::ToolLink::open(endpoint, std::chrono::seconds(5));
    if (!link) return say_error(link.error());
    const bool undo = undrain_->parsed();
    if (const auto done = link->drain_node(name_, undo); !done) return say_error(done.error());
    if (json_) return print(json_text({{"node", name_}, {"draining", !undo}}));
    return print(fmt::format("node {} {}\n", name_,
                             undo ? "takes workers again"
                                  : "is drained: its workers leave their jobs, and no others join "
                                    "there"));
}

}  // namespace pace::pacectl
