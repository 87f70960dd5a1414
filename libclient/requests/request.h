// RequestTable: the requests of a session, from submission until they are collected.
//
// A request holds its slot until it is collected, so the table does not grow. Nothing is allocated
// once the member lists have found their size. An id is (number << 16 | slot). An id is found at
// once, is never reused and is never 0. The table is not thread-safe: the session locks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "libclient/link/ring.h"
#include "libclient/memory/gpu.h"
#include "protocol/types.h"

namespace pace::client {

struct RequestHandle {
    uint64_t session = 0;  // the stamp of the session
    uint64_t id = 0;
};

// Elements [first, first + count) of the buffer with this index in BufferTable.
struct Part {
    uint32_t buffer = 0;
    uint64_t first = 0;
    uint64_t count = 0;
};

struct Request {
    uint64_t id = 0;     // 0: the slot is free
    bool ended = false;  // `end` tells how
    // The number of requests of the session that had ended when this one ended, including this one.
    uint64_t ended_as = 0;
    // The buffers stay the trainer's and the daemon averages copies of them.
    bool keeps_local = false;
    // Some of the buffers are copies of the trainer's own memory.
    bool stages = false;
    // A thread works on the trainer's own memory.
    bool adding = false;
    protocol::Verb verb = protocol::Verb::barrier;
    // The number of elements of the trainer's own memory that are done.
    uint64_t added = 0;
    protocol::Order order = protocol::Order::all_at_once;
    uint64_t iteration = 0;
    // The number of elements that the call gives.
    uint64_t elements = 0;
    // The number of given elements that are ready, as the trainer said last.
    uint64_t ready = 0;
    uint64_t user_data = 0;
    // The parts that the request names. The first `given` parts are the inputs. If the result goes
    // elsewhere, the parts for the result follow.
    std::vector<Part> parts;
    uint32_t given = 0;
    // The GPU that holds the buffers. Null means that the buffers are on the host.
    std::shared_ptr<Gpu> gpu;
    // The order with the daemon to which the request was given.
    std::shared_ptr<const GpuOrder> gpu_order;
    // What the buffers hold if no daemon tells the end.
    protocol::WriteState contents = protocol::WriteState::untouched;
    Completion end;

    // inputs() returns the parts that are given. results() returns the parts to which the result
    // goes.
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

    // Allows at most `slots` requests in flight from now on.
    void set_limit(uint32_t slots);

    // From now on slots are taken in turn, and not the first that is free, whose memory is warm:
    // streams of a GPU may still use the words of the last request in a slot.
    void take_slots_in_turn() { in_turn_ = true; }

    // Begins a new request in flight. Fails with `limit`.
    base::Result<Request*> begin();
    // Undoes begin() for a request that was not submitted.
    void abandon(Request& request);

    RequestHandle handle(const Request& request) const { return {stamp_, request.id}; }

    // Returns the request of a handle, ended or not. Fails with `handle` and a message if the
    // handle is null, of another session or of a collected request.
    base::Result<Request*> find(RequestHandle handle);

    // Returns the wanted request that has ended first. Requests whose memory a thread works on come
    // last. An empty `wanted` means all requests. Null means that none has ended yet. Fails with
    // `handle` if a wanted handle is bad. Fails with `not_found` if `wanted` is empty and the
    // session has no request.
    base::Result<Request*> ended(std::span<const RequestHandle> wanted);

    // Returns the request in flight with this id, or nullptr if there is none.
    Request* in_flight(uint64_t id);
    uint32_t count_in_flight() const { return in_flight_; }
    uint32_t count_ended() const { return ended_; }

    // Marks the request as ended. `request.end` tells how the request ended.
    void end(Request& request);
    // The caller has been told how the request ended. The handle becomes void.
    void collect(Request& request);

    // Calls `visit(Request&)` for each request in flight. `visit` may end requests.
    template <typename Visit>
    void for_each_in_flight(Visit visit) {
        for (Request& request : slots_)
            if (request.id != 0 && !request.ended) visit(request);
    }

  private:
    uint64_t stamp_;
    uint64_t next_number_ = 1;
    bool in_turn_ = false;
    size_t next_slot_ = 0;
    uint32_t limit_ = 0;
    uint32_t in_flight_ = 0;
    uint32_t ended_ = 0;
    uint64_t endings_ = 0;
    std::vector<Request> slots_;
};

// Makes `end` the completion of a request that has failed with the error, or whose daemon is gone.
void fill_failed(Completion& end, const base::Error& error);
void fill_gone(Completion& end, std::string_view message);

// Says that the daemon of a request is gone, and what the request's memory holds
// (request.contents).
std::string gone_text(const Request& request, std::string_view reason);

}  // namespace pace::client
