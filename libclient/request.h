// RequestTable: the requests of a session, from submission until they are collected.
//
// A request holds its slot until it is collected, so that nothing here grows, and nothing is
// allocated once the member lists have found their size. An id is (number << 16 | slot): found at
// once, never reused, never 0. Not thread-safe: the session locks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "libclient/gpu.h"
#include "libclient/ring.h"
#include "protocol/types.h"

namespace pace::client {

struct RequestHandle {
    uint64_t session = 0;  // stamp
    uint64_t id = 0;
};

// Elements [first, first + count) of the buffer with this index in BufferTable.
struct Part {
    uint32_t buffer = 0;
    uint64_t first = 0;
    uint64_t count = 0;
};

struct Request {
    uint64_t id = 0;           // 0: the slot is free
    bool ended = false;        // `end` tells how
    uint64_t ended_as = 0;     // the how manieth of the session to end
    bool keeps_local = false;  // its buffers are the trainer's still; copies of them are averaged
    bool stages = false;       // some of its buffers are copies of the trainer's own memory
    bool adding = false;       // a thread works on the trainer's own memory
    protocol::Verb verb = protocol::Verb::barrier;
    uint64_t added = 0;  // elements that are done there
    protocol::Order order = protocol::Order::all_at_once;
    uint64_t iteration = 0;
    uint64_t elements = 0;  // that are given
    uint64_t ready = 0;     // of them, as the trainer said last
    uint64_t user_data = 0;
    std::vector<Part>
        parts;  // what it names: `given` of them, then those where the result goes, if that is elsewhere
    uint32_t given = 0;
    std::shared_ptr<Gpu> gpu;  // on which its buffers are; null: on the host
    std::shared_ptr<const Gpu::Waiting> daemon_events;  // of the daemon that it was given to
    protocol::WriteState contents =
        protocol::WriteState::untouched;  // where no daemon tells the end
    Completion end;

    // What is given, and where the result goes.
    std::span<const Part> inputs() const { return std::span(parts).first(given); }
    std::span<const Part> results() const {
        return is_out_of_place() ? std::span(parts).subspan(given) : inputs();
    }
    bool is_out_of_place() const { return parts.size() > given; }

    uint32_t slot() const { return static_cast<uint32_t>(id & 0xFFFFU); }
};

class RequestTable {
  public:
    explicit RequestTable(uint64_t stamp) : stamp_(stamp) {}

    // At most `slots` requests in flight from now on.
    void set_limit(uint32_t slots);

    // A new request in flight. Fails with `limit`.
    base::Result<Request*> begin();
    // Undoes begin() for a request that was not submitted.
    void abandon(Request& request);

    RequestHandle handle(const Request& request) const { return {stamp_, request.id}; }

    // The request of a handle, ended or not. Fails with `handle` and a message for null, foreign
    // and collected ones.
    base::Result<Request*> find(RequestHandle handle);

    // That one of the wanted requests which has ended first, those that a thread adds the average of last. Empty: of all. Null: none has
    // ended yet. Fails with `handle`, and, where none is named, with `not_found` if there is none.
    base::Result<Request*> ended(std::span<const RequestHandle> wanted);

    // The request in flight with this id, nullptr if there is none.
    Request* in_flight(uint64_t id);
    uint32_t count_in_flight() const { return in_flight_; }
    uint32_t count_ended() const { return ended_; }

    // The request has ended as `request.end` tells.
    void end(Request& request);
    // Its end has been told to the caller: the handle is void.
    void collect(Request& request);

    // Calls `visit(Request&)` for each request in flight; it may end them.
    template <typename Visit>
    void for_each_in_flight(Visit visit) {
        for (Request& request : slots_)
            if (request.id != 0 && !request.ended) visit(request);
    }

  private:
    uint64_t stamp_;
    uint64_t next_number_ = 1;
    uint32_t limit_ = 0;
    uint32_t in_flight_ = 0;
    uint32_t ended_ = 0;
    uint64_t endings_ = 0;
    std::vector<Request> slots_;
};

// Makes `end` the completion of a request whose daemon is gone.
void fill_gone(Completion& end, std::string_view message);

}  // namespace pace::client
