// The contents of the opaque types and id types of pace.h.
#pragma once

#include <memory>

#include "capi/pace.h"
#include "libclient/session/session.h"

struct pace_session {
    std::unique_ptr<pace::client::Session> session;
};

namespace pace::capi {

// pace_buffer is libclient's BufferHandle under a C name, and pace_request is its RequestHandle.
// Arrays of either type are passed through unchanged.
static_assert(sizeof(pace_buffer) == sizeof(client::BufferHandle));
static_assert(offsetof(pace_buffer, index) == offsetof(client::BufferHandle, index));
static_assert(offsetof(pace_buffer, generation) == offsetof(client::BufferHandle, generation));
static_assert(PACE_REST == client::kRest);
static_assert(sizeof(pace_member) == sizeof(protocol::MemberEntry));
static_assert(offsetof(pace_member, staleness) == offsetof(protocol::MemberEntry, staleness));
static_assert(offsetof(pace_member, weight) == offsetof(protocol::MemberEntry, weight));

inline client::BufferHandle handle_of(pace_buffer buffer) {
    return {buffer.session, buffer.index, buffer.generation};
}

inline client::Slice slice_of(const pace_slice& slice) {
    return {handle_of(slice.buffer), slice.first, slice.count};
}

inline client::RequestHandle handle_of(pace_request request) {
    return {request.session, request.id};
}

}  // namespace pace::capi
