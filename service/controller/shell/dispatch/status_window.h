// StatusWindow: decides which connections get the status document now.
//
// The document is large, and a document sent to a peer that does not read waits in our memory. So
// only a few documents are under way to one connection. Each has a random number, and the next
// request names the last number received. A peer that does not read cannot name the number, and
// gets no more answers. Pure: no socket, no clock.
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
    // A connection whose peer reads nothing for this long has been closed (zmq/socket.h), and its
    // queued messages are gone.
    static constexpr base::Duration kForgottenAfter = std::chrono::minutes(1);

    explicit StatusWindow(uint64_t (*make_number)()) : make_number_(make_number) {}

    // Returns the number for the answer; 0: do not answer. `seen`: the number named in the request,
    // 0 if none has arrived yet.
    uint64_t admit(std::string_view route, uint64_t seen, base::TimePoint now);

  private:
    struct Connection {
        std::string route;
        std::deque<uint64_t> unread;
        base::TimePoint asked{};
    };
    Connection* find(std::string_view route, base::TimePoint now);

    uint64_t (*make_number_)();
    std::list<Connection> connections_;  // most recent request last
    std::unordered_map<std::string, std::list<Connection>::iterator> by_route_;
};

}  // namespace pace::controller
