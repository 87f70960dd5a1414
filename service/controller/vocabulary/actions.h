// Actions: the output of the controller's core, for daemons, the journal and operators.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <protocol/control_messages.h>

#include "service/controller/vocabulary/events.h"
#include "service/controller/vocabulary/ids.h"

namespace pace::controller {

// A message and its destination nodes. One action serves all of them: a copy of a view's members
// for each node would cost nodes x members.
template <typename Message>
struct To : Message {
    std::vector<NodeId> to;  // empty: all, except the node that the message is about
};

// The node is attached under this id.
struct Attached {
    NodeId node = 0;
    std::string name;
};

// All attachments of the node are void; the node may attach again.
struct Excluded {
    NodeId node = 0;
    std::string reason;
};

// The node has been gone for long and its id is forgotten. Sent to no daemon.
struct NodeForgotten {
    NodeId node = 0;
};

// Hard state to be made durable; core/journal_record.h defines the record's layout.
struct JournalAppend {
    std::vector<std::byte> record;
};

// The subject of a note. A field that does not apply is empty or none.
struct About {
    std::string job{};
    std::optional<Rank> rank{};
    std::string node{};
};

// A message for operators.
struct Note {
    bool warning = false;
    std::string event;
    std::string detail;
    About about{};
    bool routine = false;  // as frequent as workers or more: not logged
};

template <typename... Messages>
std::variant<Attached, Excluded, NodeForgotten, JournalAppend, Note, To<Probe>, To<Messages>...>
actions_of(const std::variant<Messages...>&);

using Action = decltype(actions_of(std::declval<FromController>()));
using Actions = std::vector<Action>;

}  // namespace pace::controller
