// ServerMail: letters between the nodes of a server job, while a view lasts. Between two nodes they arrive in the order in which they were
// sent; what has not arrived when the view ends is lost.
//
// Each letter is a message of fixed size, and one with its elements if there are any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "daemon/exchange/services.h"
#include "daemon/server/letter.h"

namespace pace::daemon {

class ServerMail {
  public:
    using Received =
        std::function<void(NodeId from, const server::Letter&, std::vector<std::byte> elements)>;
    // The way to a node is gone; only another view brings a new one.
    using Broken = std::function<void(NodeId node, const base::Error&)>;

    // Letters have at most `elements_max` elements.
    ServerMail(Services& services, uint64_t elements_max, Received received, Broken broken);
    ~ServerMail();
    ServerMail(const ServerMail&) = delete;
    ServerMail& operator=(const ServerMail&) = delete;

    // A view has committed over these nodes. What was of another is closed.
    void open(uint64_t token, uint64_t epoch, const std::vector<NodeId>& nodes);
    void close(const base::Error& error);

    // To a node of the view; dropped if it is none, or its way is gone.
    void send(NodeId to, const server::Letter& letter, std::vector<std::byte> elements);

  private:
    struct Line;
    void listen(const std::shared_ptr<Line>& line);

    Services& services_;
    uint64_t elements_max_;
    Received received_;
    Broken broken_;
    std::map<NodeId, std::shared_ptr<Line>> lines_;
};

}  // namespace pace::daemon
