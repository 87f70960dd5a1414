// Turn: one event's time, and the actions that it causes.
#pragma once

#include <string>
#include <utility>

#include "service/controller/core/types.h"

namespace pace::controller {

struct Turn {
    TimePoint now;
    Actions& actions;

    template <typename T>
    void act(T action) const {
        actions.emplace_back(std::in_place_type<T>, std::move(action));
    }
    void note(std::string event, std::string detail) const {
        act(Note{false, std::move(event), std::move(detail)});
    }
    void warn(std::string event, std::string detail) const {
        act(Note{true, std::move(event), std::move(detail)});
    }
};

}  // namespace pace::controller
