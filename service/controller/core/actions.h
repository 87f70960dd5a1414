// Actions: what goes out of the controller's core, to daemons, to the journal and to operators.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <protocol/control_messages.h>

#include "service/controller/core/events.h"
#include "service/controller/core/ids.h"

namespace pace::controller {

// A message, and the nodes that it is for. One action for all of them: a copy of a view's members for each node would be (nodes x
// members).
template <typename Message>
struct To : Message {
    std::vector<NodeId> to;  // empty: all, but for the node that it is about
};

// The node is attached under this id.
struct Attached {
    NodeId node = 0;
    std::string name;
};

// All attachments of the node are void; it may attach again.
struct Excluded {
    NodeId node = 0;
    std::string reason;
};

// To nobody: the node is gone for long, and its id is known no more.
struct NodeForgotten {
    NodeId node = 0;
};

// Hard state to be made durable; the record's layout is the journal's (core/journal_record.h).
struct JournalAppend {
    std::vector<std::byte> record;
};

// What a note is about; empty, or none, where it is about nothing of the kind.
struct About {
    std::string job{};
    std::optional<Rank> rank{};
    std::string node{};
};

// Something that an operator wants to read.
struct Note {
    bool warning = false;
    std::string event;
    std::string detail;
    About about{};
    bool routine = false;  // it comes with every worker, or oftener: nothing for the log
};

template <typename... Messages>
std::variant<Attached, Excluded, NodeForgotten, JournalAppend, Note, To<Probe>, To<Messages>...>
actions_of(const std::variant<Messages...>&);

using Action = decltype(actions_of(std::declval<FromController>()));
using Actions = std::vector<Action>;

}  // namespace pace::controller
