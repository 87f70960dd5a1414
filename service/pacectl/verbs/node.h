// NodeCommand: `pacectl node drain NAME` and `pacectl node undrain NAME`, which take a node out of
// use and put it back.
#pragma once

#include <string>

#include "libclient/link/endpoint.h"

namespace CLI {
class App;
}

namespace pace::pacectl {

class NodeCommand {
  public:
    // Adds itself to the command line, which keeps a reference to it.
    explicit NodeCommand(CLI::App& app);
    NodeCommand(const NodeCommand&) = delete;
    NodeCommand& operator=(const NodeCommand&) = delete;

    bool is_parsed() const;
    // Returns the exit code, as in commands.h.
    int run(const client::Endpoint& endpoint) const;

  private:
    std::string name_;
    bool json_ = false;
    CLI::App* drain_ = nullptr;
    CLI::App* undrain_ = nullptr;
};

}  // namespace pace::pacectl
