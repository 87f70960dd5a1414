// info: what requests, sessions and buffers tell of themselves. Each is the struct of pace.h with
// typed readings of its enumerations and flags. The comments of pace.h say which fields a verb
// sets.
#pragma once

#include <pace.h>

#include <pace/element.hpp>
#include <pace/status.hpp>

#include <cstddef>

namespace pace {

// What a request's buffers hold if its daemon was gone before it could tell how it ended.
enum class contents : std::int32_t {
    as_called = PACE_CONTENTS_AS_CALLED,
    torn = PACE_CONTENTS_TORN,
    result = PACE_CONTENTS_RESULT
};

// What one member of an exchange brought: rank, staleness, weight. A wait fills them in where
// wait_options has room.
using member = pace_member;

// As many members as the daemon lists.
inline constexpr std::size_t members_max = 128;

// How a request ended: all fields of pace_request_info, by their names there.
struct request_info : pace_request_info {
    request_info() noexcept : pace_request_info(PACE_REQUEST_INFO_INIT) {}

    // How the request ended; status::pending while it has not been collected.
    pace::status ended_as() const noexcept { return static_cast<pace::status>(status); }
    // For a request that ended as daemon_gone: what its buffers hold.
    pace::contents buffers_hold() const noexcept { return static_cast<pace::contents>(contents); }
};

// What a worker finds when it joins.
enum class run_state : std::uint32_t {
    is_new = PACE_RUN_NEW,           // a run that begins when all have joined
    under_way = PACE_RUN_UNDER_WAY,  // others take part in it: broadcast() gives the current model
    resumed =
        // all its workers were gone: go on from a checkpoint or from what is there
    PACE_RUN_RESUMED
};

// What a session tells: all fields of pace_session_info, by their names there. Texts are
// zero-terminated.
struct session_info : pace_session_info {
    session_info() noexcept : pace_session_info(PACE_SESSION_INFO_INIT) {}

    // What the worker found when it opened its session.
    pace::run_state joined() const noexcept { return static_cast<pace::run_state>(run_state); }
};

// What a buffer tells: all fields of pace_buffer_info, by their names there.
struct buffer_info : pace_buffer_info {
    buffer_info() noexcept : pace_buffer_info(PACE_BUFFER_INFO_INIT) {}

    // The type of its elements.
    element elements_are() const noexcept { return static_cast<element>(type); }
    // Its contents were those of an earlier process of this rank.
    bool is_restored() const noexcept { return (flags & PACE_BUFFER_RESTORED) != 0; }
    // It is the trainer's own memory, which is copied at calls.
    bool is_staged() const noexcept { return (flags & PACE_BUFFER_STAGED) != 0; }
};

}  // namespace pace
