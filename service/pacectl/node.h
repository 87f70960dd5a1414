// `pacectl node drain NAME` and `pacectl node undrain NAME`: an operator takes a node out of use, and puts it back.
#pragma once

#include <string>

#include "libclient/endpoint.h"

namespace CLI {
class App;
}

namespace pace::pacectl {

class NodeCommand {
  public:
    // Adds itself to the command line, which refers to it from then on.
    explicit NodeCommand(CLI::App& app);
    NodeCommand(const NodeCommand&) = delete;
    NodeCommand& operator=(const NodeCommand&) = delete;

    bool is_parsed() const;
    // The exit code, as commands.h says.
    int run(const client::Endpoint& endpoint) const;

  private:
    std::string name_;
    bool json_ = false;
    CLI::App* drain_ = nullptr;
    CLI::App* undrain_ = nullptr;
};

}  // namespace pace::pacectl
