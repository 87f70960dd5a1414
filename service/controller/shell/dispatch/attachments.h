// Attachments: which connection may speak for which node.
//
// A daemon proves its identity by the number that it drew at random for this attachment, sent over
// the connection on which it said hello. Both must match. After a connection broke, messages may be
// missing on either side, so an attachment never continues on a new connection. Pure: no socket, no
// clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

using Route = std::string;  // ZeroMQ's name of a connection, never used twice

struct Attachment {
    Route route;
    uint64_t number = 0;
    std::string name;
    std::string host;
    std::string key;  // of its connection, as in rights.h
    uint64_t generation = 0;
    uint32_t version = 0;  // of the protocol used with this daemon
    base::TimePoint heard{};
};

class Attachments {
  public:
    // The node that may use this number over this connection; 0 if none.
    NodeId check(NodeId claimed, uint64_t number, std::string_view route) const;

    // The reason if an exclusion ended this attachment; null otherwise.
    const std::string* excluded_because(NodeId claimed, uint64_t number) const;

    const Attachment* find(NodeId node) const;
    NodeId find_name(std::string_view name) const;    // attached node of this name; 0 if none
    NodeId find_route(std::string_view route) const;  // attached node of this route; 0 if none

    void heard(NodeId node, base::TimePoint now);

    // The node's earlier attachment, if any, must have ended.
    void attach(NodeId node, Attachment attachment);

    // Both end the node's attachment. After exclude(), messages that its daemon still sends with
    // the old number are answered with the exclusion.
    void detach(NodeId node);
    void exclude(NodeId node, std::string reason);
    // Forgets the node's number, also that of an exclusion.
    void forget(NodeId node);

    size_t attached() const { return routes_.size(); }
    std::vector<NodeId> nodes() const;              // attached now
    size_t seats() const { return seats_.size(); }  // attached or remembered

  private:
    struct Seat {
        std::optional<Attachment> attachment;
        uint64_t excluded_number = 0;
        std::string excluded_reason;
    };
    std::unordered_map<NodeId, Seat> seats_;
    std::unordered_map<std::string, NodeId> names_;   // of attached nodes
    std::unordered_map<std::string, NodeId> routes_;  // of attached nodes
};

}  // namespace pace::controller
