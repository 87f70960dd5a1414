// Deadlines: how long each connection may take for what it does now. Whoever is late is shut down, so that a client that sends or
// reads a byte now and then holds a connection for a bounded time, however often it does so.
//
// It also looks for clients that have gone: the library does not see the end of a connection that comes together with the last bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/event_loop.h"

namespace pace::http {

class Deadlines {
  public:
    enum class Awaited : uint8_t {
        request,  // from the client
        reading,  // of an answer, by the client
    };

    explicit Deadlines(base::EventLoop& loop) : loop_(loop) {}

    // A request is awaited. `key` names the connection; its socket stays open until end().
    void begin(const void* key, int socket, base::Duration patience);
    // From now on it has so long for this. One that was shut down stays so.
    void expect(const void* key, Awaited awaited, base::Duration patience);
    void end(const void* key);

    size_t connections() const { return open_.size(); }
    // Those that were late.
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
