// Turn: one event's time, and the actions that it causes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

struct Turn {
    TimePoint now;
    Actions& actions;

    template <typename T>
    void act(T action) const {
        actions.emplace_back(std::in_place_type<T>, std::move(action));
    }
    template <typename Message>
    void tell(NodeId node, Message message) const {
        act(To<Message>{std::move(message), {node}});
    }
    template <typename Message>
    void tell_each(std::vector<NodeId> nodes, Message message) const {
        if (!nodes.empty()) act(To<Message>{std::move(message), std::move(nodes)});
    }
    // To all nodes except the one that the message is about.
    template <typename Message>
    void tell_others(Message message) const {
        act(To<Message>{std::move(message), {}});
    }
    void note(std::string event, std::string detail, About about = {}) const {
        act(Note{false, std::move(event), std::move(detail), std::move(about)});
    }
    void warn(std::string event, std::string detail, About about = {}) const {
        act(Note{true, std::move(event), std::move(detail), std::move(about)});
    }
    // For notes so frequent that they are not logged.
    void mention(std::string event, std::string detail, About about) const {
        act(Note{false, std::move(event), std::move(detail), std::move(about), true});
    }
};

}  // namespace pace::controller
