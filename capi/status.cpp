#include "capi/status.h"

#include <algorithm>
#include <array>

#include "libclient/link/packet.h"

namespace pace::capi {

using base::ErrorKind;

namespace {

struct Row {
    ErrorKind kind;
    pace_status call;  // a call failed with this kind
    pace_status end;   // a request ended with this kind
};

constexpr std::array kRows{
    Row{ErrorKind::invalid, PACE_E_INVALID, PACE_E_REFUSED},
    Row{ErrorKind::handle, PACE_E_HANDLE, PACE_E_HANDLE},
    Row{ErrorKind::verb, PACE_E_VERB, PACE_E_VERB},
    Row{ErrorKind::mismatch, PACE_E_MISMATCH, PACE_E_MISMATCH},
    Row{ErrorKind::not_found, PACE_E_NOT_FOUND, PACE_E_NOT_FOUND},
    Row{ErrorKind::taken, PACE_E_TAKEN, PACE_E_TAKEN},
    Row{ErrorKind::version, PACE_E_VERSION, PACE_E_VERSION},
    Row{ErrorKind::unavailable, PACE_E_DAEMON_GONE, PACE_E_DAEMON_GONE},
    Row{ErrorKind::no_controller, PACE_E_NO_CONTROLLER, PACE_E_NO_CONTROLLER},
    Row{ErrorKind::limit, PACE_E_LIMIT, PACE_E_LIMIT},
    Row{ErrorKind::memory, PACE_E_MEMORY, PACE_E_MEMORY},
    Row{ErrorKind::disk, PACE_E_DISK, PACE_E_DISK},
    Row{ErrorKind::denied, PACE_E_DENIED, PACE_E_DENIED},
    // The daemon gave up waiting for its controller. In a request, the daemon gave up waiting for
    // another node.
    Row{ErrorKind::timeout, PACE_E_NO_CONTROLLER, PACE_ABORTED},
    Row{ErrorKind::aborted, PACE_E_DAEMON_GONE, PACE_ABORTED},
    Row{ErrorKind::canceled, PACE_E_CLOSED, PACE_CANCELED},
    Row{ErrorKind::closed, PACE_E_CLOSED, PACE_E_CLOSED},
    // The other side could not read our bytes, or its own.
    Row{ErrorKind::corrupt, PACE_E_INTERNAL, PACE_E_INTERNAL},
    // `interrupted` is the one kind that is no fault. No request ends with this kind.
    Row{ErrorKind::interrupted, PACE_INTERRUPTED, PACE_E_INTERNAL},
    Row{ErrorKind::internal, PACE_E_INTERNAL, PACE_E_INTERNAL},
};

// The table is complete and in order, so that a kind can be found by its number.
consteval bool is_in_order() {
    for (size_t i = 0; i < kRows.size(); ++i)
        if (kRows[i].kind != static_cast<ErrorKind>(i + 1)) return false;
    return kRows.back().kind == ErrorKind::internal;
}
static_assert(is_in_order());

const Row& row_of(ErrorKind kind) {
    const auto number = static_cast<size_t>(kind);
    return number >= 1 && number <= kRows.size() ? kRows[number - 1] : kRows.back();
}

}  // namespace

pace_status status_of_call(ErrorKind kind) {
    return row_of(kind).call;
}

pace_status status_of_end(ErrorKind kind) {
    return row_of(kind).end;
}

pace_status status_of(protocol::Outcome outcome, int32_t error_kind) {
    switch (outcome) {
        case protocol::Outcome::done:
            return PACE_OK;
        case protocol::Outcome::aborted:
            return PACE_ABORTED;
        case protocol::Outcome::canceled:
            return PACE_CANCELED;
        case protocol::Outcome::stale:
            return PACE_STALE;
        case protocol::Outcome::failed:
            return status_of_end(client::kind_of(error_kind));
    }
    return PACE_E_INTERNAL;
}

}  // namespace pace::capi

// NOLINTNEXTLINE(readability-function-size): a table of names
const char* pace_status_name(pace_status status) {
    switch (status) {
        case PACE_OK:
            return "PACE_OK";
        case PACE_TIMEOUT:
            return "PACE_TIMEOUT";
        case PACE_ABORTED:
            return "PACE_ABORTED";
        case PACE_CANCELED:
            return "PACE_CANCELED";
        case PACE_STALE:
            return "PACE_STALE";
        case PACE_PENDING:
            return "PACE_PENDING";
        case PACE_INTERRUPTED:
            return "PACE_INTERRUPTED";
        case PACE_E_INVALID:
            return "PACE_E_INVALID";
        case PACE_E_HANDLE:
            return "PACE_E_HANDLE";
        case PACE_E_VERB:
            return "PACE_E_VERB";
        case PACE_E_MISMATCH:
            return "PACE_E_MISMATCH";
        case PACE_E_NOT_FOUND:
            return "PACE_E_NOT_FOUND";
        case PACE_E_TAKEN:
            return "PACE_E_TAKEN";
        case PACE_E_VERSION:
            return "PACE_E_VERSION";
        case PACE_E_DAEMON_GONE:
            return "PACE_E_DAEMON_GONE";
        case PACE_E_NO_CONTROLLER:
            return "PACE_E_NO_CONTROLLER";
        case PACE_E_LIMIT:
            return "PACE_E_LIMIT";
        case PACE_E_MEMORY:
            return "PACE_E_MEMORY";
        case PACE_E_DISK:
            return "PACE_E_DISK";
        case PACE_E_DENIED:
            return "PACE_E_DENIED";
        case PACE_E_CLOSED:
            return "PACE_E_CLOSED";
        case PACE_E_INTERNAL:
            return "PACE_E_INTERNAL";
        case PACE_E_REFUSED:
            return "PACE_E_REFUSED";
        case PACE_E_UNSUPPORTED:
            return "PACE_E_UNSUPPORTED";
        default:
            return "PACE_?";
    }
}

uint32_t pace_library_version(void) {
    return 10000 * PACE_VERSION_MAJOR + 100 * PACE_VERSION_MINOR + PACE_VERSION_PATCH;
}
