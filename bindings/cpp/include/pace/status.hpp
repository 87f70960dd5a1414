// status: how a call or a request ended, as an enumeration, and the versions of header and library.
#pragma once

#include <pace.h>

#include <cstdint>

namespace pace {

// The statuses of pace.h. The sign says who acts: above 0 it is an outcome that the caller handles,
// below 0 a fault. A later libpace may give a value that is not listed here: treat it by its sign.
enum class status : pace_status {
    ok = PACE_OK,
    timeout = PACE_TIMEOUT,
    aborted = PACE_ABORTED,
    canceled = PACE_CANCELED,
    stale = PACE_STALE,
    pending = PACE_PENDING,
    interrupted = PACE_INTERRUPTED,
    invalid = PACE_E_INVALID,
    handle = PACE_E_HANDLE,
    verb = PACE_E_VERB,
    mismatch = PACE_E_MISMATCH,
    not_found = PACE_E_NOT_FOUND,
    taken = PACE_E_TAKEN,
    version = PACE_E_VERSION,
    daemon_gone = PACE_E_DAEMON_GONE,
    no_controller = PACE_E_NO_CONTROLLER,
    limit = PACE_E_LIMIT,
    memory = PACE_E_MEMORY,
    disk = PACE_E_DISK,
    denied = PACE_E_DENIED,
    closed = PACE_E_CLOSED,
    internal = PACE_E_INTERNAL,
    refused = PACE_E_REFUSED,
    unsupported = PACE_E_UNSUPPORTED
};

// The name of a status in pace.h, "PACE_E_TAKEN"; "PACE_?" for a number that is none. Static text.
// Threads: any. Blocks: no.
inline const char* name(status which) noexcept {
    return pace_status_name(static_cast<pace_status>(which));
}

// The version of the pace.h that this program is compiled with, as 10000 * major + 100 * minor +
// patch.
inline constexpr std::uint32_t header_version =
    10000U * PACE_VERSION_MAJOR + 100U * PACE_VERSION_MINOR + PACE_VERSION_PATCH;

// The version of the libpace that is loaded, as header_version. Threads: any. Blocks: no.
inline std::uint32_t library_version() noexcept {
    return pace_library_version();
}

}  // namespace pace
