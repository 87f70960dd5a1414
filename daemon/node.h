// Node: one whole daemon on an event loop: transport, engine, clients, and the link to its
// controller, which may run in the same process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/config.h"

namespace pace::controller {
class ControllerServer;
}

namespace pace::daemon {

class Node {
  public:
    // Opens everything that the configuration names. Afterwards the loop must run. The error says
    // what could not be opened, and why.
    static base::Result<std::unique_ptr<Node>> create(base::EventLoop& loop,
                                                      const NodeConfig& config);
    // Says goodbye to trainers and controller. Blocks for at most a second.
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // Adds a client that did not connect through the socket (embedded daemons).
    void add_client(base::UniqueFd socket);

    // The "daemon" document, as JSON.
    std::string document() const;
    // One sentence about the daemon's state for the service manager.
    std::string status_line() const;
    // Why trainers cannot work with the daemon now, in one line; none if they can.
    std::optional<std::string> obstacle() const;
    // The controller in this process; null if it runs elsewhere.
    controller::ControllerServer* controller();

  private:
    struct State;
    explicit Node(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pace::daemon
