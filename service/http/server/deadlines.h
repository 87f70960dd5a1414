// Deadlines: limits how long each connection may take for its present action. A connection that is
// late is shut down. So a client that sends or reads one byte now and then holds a connection only
// for a bounded time, however often it does so.
//
// Deadlines also checks whether clients have gone, because the library does not notice the end of a
// connection that comes together with the last bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/loop/event_loop.h"

namespace pace::http {

class Deadlines {
  public:
    enum class Awaited : uint8_t {
        request,  // from the client
        reading,  // the client reads an answer
    };

    explicit Deadlines(base::EventLoop& loop) : loop_(loop) {}

    // Begins to await a request. `key` names the connection. The connection's socket must stay open
    // until end().
    void begin(const void* key, int socket, base::Duration patience);
    // Gives the connection the time `patience`, from now on, for what is awaited. A connection that
    // was shut down stays so.
    void expect(const void* key, Awaited awaited, base::Duration patience);
    void end(const void* key);

    size_t connections() const { return open_.size(); }
    // The number of connections that were late.
    uint64_t cut_off() const { return cut_off_; }

  private:
    struct Open {
        int socket = -1;
        Awaited awaited = Awaited::request;
        base::TimePoint due;
        bool is_shut_down = false;
    };

    void schedule();
    void look();

    base::EventLoop& loop_;
    std::map<const void*, Open> open_;
    uint64_t cut_off_ = 0;
    base::TimePoint next_{};
    base::Timer timer_;
};

}  // namespace pace::http
