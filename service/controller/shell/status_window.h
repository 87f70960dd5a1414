// StatusWindow: who gets the status document now.
//
// The document is large, and what is sent to a connection whose peer does not read waits in our memory. So only a few are on their way to
// one connection: each bears a random number, and the next question names the last number that has arrived. Who does not read cannot
// name it, and is not answered any more. Pure: no socket, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace pace::controller {

class StatusWindow {
  public:
    static constexpr size_t kUnreadMax = 4;
    static constexpr size_t kConnectionsMax = 4096;
    // A connection whose peer reads nothing for so long is gone (zmq/socket.h), and what waited for it.
    static constexpr base::Duration kForgottenAfter = std::chrono::minutes(1);

    explicit StatusWindow(uint64_t (*make_number)()) : make_number_(make_number) {}

    // The number that the answer is to bear; 0: there is no answer. `seen`: the number that the question names, 0 if none has arrived yet.
    uint64_t admit(std::string_view route, uint64_t seen, base::TimePoint now);

  private:
    struct Connection {
        std::string route;
        std::deque<uint64_t> unread;
        base::TimePoint asked{};
    };
    Connection* find(std::string_view route, base::TimePoint now);

    uint64_t (*make_number_)();
    std::list<Connection> connections_;  // who has asked last is last
    std::unordered_map<std::string, std::list<Connection>::iterator> by_route_;
};

}  // namespace pace::controller
