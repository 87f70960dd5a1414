// Request: one verb that a worker has called, after checks. Ending: how the request ended. Each
// request ends exactly once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/gpu/device_lane.h"
#include "daemon/runtime/buffer.h"
#include "daemon/runtime/write_mark.h"
#include "protocol/ring.h"
#include "protocol/types.h"

namespace pace::daemon {

struct Pull;

struct Request {
    uint64_t id = 0;      // the trainer's; it may be reused once this request has ended
    uint64_t serial = 0;  // this daemon's, among all requests of its job
    protocol::Verb verb = protocol::Verb::barrier;
    protocol::ReduceOp op = protocol::ReduceOp::mean;
    uint32_t root = 0;
    uint64_t iteration = 0;
    std::vector<BufferPtr> buffers;
    std::vector<BufferPtr> results{};  // where the result goes; empty: to the buffers
    // The trainer gave other memory as input, which it may change when the request has ended. On a
    // GPU the buffers are a copy of that memory, and get the result.
    bool out_of_place = false;
    std::shared_ptr<DeviceContents> contents;  // of buffers on a GPU; else null
    bool sparse = false;                       // push: the buffers are indices and values
    uint64_t first = 0;    // push, pull: element of the model at which the buffers begin
    uint64_t entries = 0;  // push of indices and values
    protocol::Order order = protocol::Order::all_at_once;  // average
    bool keeps_local = false;  // the buffers are copies of those that the trainer goes on with
    uint64_t elements = 0;     // of the buffers together
    uint64_t ready = 0;        // how many of them are ready, from the end where the order begins
    uint32_t digest = 0;       // of the buffers' types and counts, and of the order
    uint64_t submitted_ns = 0;
    // What the request has asked for of a parameter server's model; else null.
    std::shared_ptr<Pull> pull{};
    WriteMarkPtr mark;

    const std::vector<BufferPtr>& destination() const {
        return results.empty() ? buffers : results;
    }
    // Whether the request can go on although its trainer is dead.
    bool outlives_trainer() const {
        return std::none_of(buffers.begin(), buffers.end(),
                            [](const BufferPtr& buffer) { return buffer->is_lent(); });
    }
    // Whether all elements of the buffers are ready.
    bool is_made() const { return ready >= elements; }
};

using MemberList = std::vector<protocol::MemberEntry>;

struct Ending {
    protocol::Outcome outcome = protocol::Outcome::done;
    base::ErrorKind kind = base::ErrorKind::internal;  // when failed
    std::string message;                               // when not done
    uint64_t iteration = 0;
    uint64_t group = 0;
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
    uint64_t queued_ns = 0;
    uint64_t moving_ns = 0;
    double initial_weight = 0;
    uint32_t nodes = 1;

    // Fields of a reduce, as pace_request_info gives them.
    double divisor = 0;         // what the sum was divided by; 0: nothing was summed
    uint64_t rounds = 0;        // whose results the buffers hold, summed in order
    uint32_t contributors = 0;  // members whose gradients are in the result
    bool late = false;          // this worker's gradient came after its round had begun
    bool resync = false;        // all workers are to call sync now
    bool dense = false;         // compression was asked for, but dense was faster
    bool on_device = false;     // the buffers are on a GPU, and the result is queued there
    uint64_t entries = 0;       // elements of the result that top-k chose; 0: dense

    uint64_t slowest_clock = 0;  // of a parameter server's workers

    std::shared_ptr<const MemberList> members;  // by rank; may be null
};

inline Ending failed(const base::Error& error) {
    Ending ending;
    ending.outcome = protocol::Outcome::failed;
    ending.kind = error.kind;
    ending.message = error.message;
    return ending;
}

inline Ending ended_as(protocol::Outcome outcome, std::string message) {
    Ending ending;
    ending.outcome = outcome;
    ending.message = std::move(message);
    return ending;
}

}  // namespace pace::daemon
