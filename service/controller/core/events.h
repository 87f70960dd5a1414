// Events: what comes in to the controller's core, from daemons, from pacectl and from the clock.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include <protocol/control_messages.h>

#include "service/controller/core/ids.h"
#include "service/controller/core/options.h"

namespace pace::controller {

// Declared once for both sides, in protocol/control.fbs.
using namespace protocol::messages;

// A daemon's message. `node` is the one that its attachment gives, never one that the message names.
template <typename Message>
struct From : Message {
    NodeId node = 0;
};

template <typename Message>
From<Message> from(NodeId node, Message message) {
    return {std::move(message), node};
}

// Any message came from the node. Feeds the adaptive liveness.
struct NodeHeard {
    NodeId node = 0;
};

// The daemon says goodbye, or the shell knows that it is gone.
struct NodeLost {
    NodeId node = 0;
    std::string reason;
};

// Time has passed. The shell sends one no later than Core::next_deadline().
struct Tick {};

template <typename... Messages>
std::variant<Hello, NodeHeard, NodeLost, Tick, From<Messages>...> events_of(
    const std::variant<Messages...>&);

// Whatever a daemon says is an event.
using Event = decltype(events_of(std::declval<FromDaemon>()));

}  // namespace pace::controller
