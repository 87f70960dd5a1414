// Readiness: which sockets have changed, and when the next deadline is. One descriptor tells both.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::transports::tls {

class Readiness {
  public:
    // Names a watched socket. A token is not used twice, so that an event of a closed socket meets
    // nobody.
    using Token = uint64_t;

    static base::Result<std::unique_ptr<Readiness>> create();

    // The descriptor that becomes readable.
    int fd() const { return epoll_.get(); }

    // Tells changes of a connection once (edge-triggered): readable, writable, closed.
    base::Result<Token> watch_connection(int fd);
    // Tells that somebody waits to be accepted, again and again until they are.
    base::Result<Token> watch_listener(int fd);
    void unwatch(int fd);

    struct Event {
        Token token = 0;
        bool readable = false;
        bool writable = false;
    };
    // Returns how many events there are, without waiting. Writes them to `events`.
    size_t take(std::span<Event> events);

    // The descriptor becomes readable at this time. None: there is no deadline.
    void wake_at(std::optional<base::TimePoint> when);

  private:
    Readiness(base::UniqueFd epoll, base::UniqueFd timer);
    base::Result<Token> watch(int fd, uint32_t events);

    base::UniqueFd epoll_;
    base::UniqueFd timer_;
    Token next_token_ = 1;
    std::optional<base::TimePoint> wakes_at_;
};

}  // namespace pace::transports::tls
