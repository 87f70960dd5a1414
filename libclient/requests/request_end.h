// RequestEnd: what a wait tells the trainer of a request that has ended.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "libclient/requests/request.h"
#include "protocol/types.h"

namespace pace::client {

// How a request ended. The caller sets `room` and `local_iteration`.
struct RequestEnd {
    std::span<protocol::MemberEntry> room;  // input: where to list members
    RequestHandle handle{};                 // the request that ended
    uint64_t user_data = 0;                 // from its operation
    protocol::Verb verb = protocol::Verb::barrier;
    // Input: the iteration that the worker has reached. 0 means the iteration of the call.
    uint64_t local_iteration = 0;
    // The number of members that are listed in `room`, ordered by rank.
    uint32_t listed = 0;
    // The wait was interrupted. The request has not ended.
    bool interrupted = false;
    // The stream waits for the request, which has not ended.
    bool queued = false;
    // The number of steps since the call that the average lacks.
    uint64_t staleness = 0;
    // What the buffers hold if the daemon died before it told the end.
    protocol::WriteState contents = protocol::WriteState::untouched;
    protocol::CompletionEntry entry{};

    std::string_view message() const { return {entry.message, entry.message_bytes}; }
};

// Checks that the iteration which the worker says it has reached fits the call. A null `end` fits.
base::Result<> check_progress(const Request& request, const RequestEnd* end);

// Fills in all but the handle. Sorts the request's members.
void fill(RequestEnd& end, Request& request);

}  // namespace pace::client
