// Events: the input of the controller's core, from daemons, pacectl and the clock.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include <protocol/control_messages.h>

#include "service/controller/vocabulary/ids.h"
#include "service/controller/vocabulary/options.h"

namespace pace::controller {

// The messages are declared once for both sides, in protocol/control.fbs.
using namespace protocol::messages;

// A daemon's message. `node` comes from the daemon's attachment, never from the message.
template <typename Message>
struct From : Message {
    NodeId node = 0;
};

template <typename Message>
From<Message> from(NodeId node, Message message) {
    return {std::move(message), node};
}

// A message of any kind came from the node. Feeds the adaptive liveness.
struct NodeHeard {
    NodeId node = 0;
};

// The daemon said goodbye, or the shell knows that the daemon is gone.
struct NodeLost {
    NodeId node = 0;
    std::string reason;
};

// Time has passed. The shell sends a Tick no later than Core::next_deadline().
struct Tick {};

template <typename... Messages>
std::variant<Hello, NodeHeard, NodeLost, Tick, From<Messages>...> events_of(
    const std::variant<Messages...>&);

// Every message of a daemon is an event.
using Event = decltype(events_of(std::declval<FromDaemon>()));

}  // namespace pace::controller
