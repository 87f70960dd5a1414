// Requests: waiting, testing, canceling.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "capi/guard.h"
#include "capi/handle.h"
#include "capi/options.h"

using pace::base::ErrorKind;
using pace::base::make_error;
using pace::base::Result;
using pace::base::TimePoint;
namespace capi = pace::capi;
namespace client = pace::client;
namespace protocol = pace::protocol;

namespace {

static_assert(PACE_CONTENTS_TORN == static_cast<int>(protocol::WriteState::writing));
static_assert(PACE_CONTENTS_RESULT == static_cast<int>(protocol::WriteState::whole));

constexpr capi::StructName kRequestInfo{"ret_info", "PACE_REQUEST_INFO_INIT"};

// Longer waits are waits without limit; adding them to the clock would overflow.
constexpr int64_t kLongestMs = int64_t{1000} * 3600 * 24 * 365;

Result<TimePoint> deadline_of(int64_t timeout_ms) {
    if (timeout_ms == PACE_FOREVER || timeout_ms > kLongestMs) return TimePoint::max();
    if (timeout_ms < 0)
        return make_error(ErrorKind::invalid,
                          "timeout_ms is {}; give milliseconds, 0 to look once, or PACE_FOREVER",
                          timeout_ms);
    return pace::base::now() + std::chrono::milliseconds(timeout_ms);
}

// The caller's struct in this library's shape: what it lacks is zero.
Result<pace_request_info> read_info(const pace_request_info* given) {
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    if (given == nullptr) return info;
    PACE_TRY(capi::check_size(given->struct_size, kRequestInfo));
    std::memcpy(&info, given, std::min<size_t>(given->struct_size, sizeof(info)));
    if (info.members == nullptr && info.member_capacity != 0)
        return make_error(ErrorKind::invalid,
                          "ret_info->members is NULL but member_capacity is {}; give both or "
                          "neither",
                          info.member_capacity);
    return info;
}

// pace_member has the layout of MemberEntry (handle.h asserts it), and no invariant of its own.
std::span<protocol::MemberEntry> room_of(const pace_request_info& info) {
    return {reinterpret_cast<protocol::MemberEntry*>(info.members), info.member_capacity};
}

void fill(pace_request_info& info, pace_status status, const client::RequestEnd& end) {
    info.status = status;
    info.iteration = end.entry.iteration;
    info.group = end.entry.group;
    info.bytes_sent = end.entry.bytes_sent;
    info.bytes_received = end.entry.bytes_received;
    info.queued_ns = end.entry.queued_ns;
    info.moving_ns = end.entry.moving_ns;
    info.initial_weight = end.entry.initial_weight;
    info.member_count = end.entry.member_count;
    info.node_count = end.entry.nodes;
    info.member_listed = end.listed;
    info.divisor = end.entry.divisor;
    info.rounds = end.entry.rounds;
    info.contributor_count = end.entry.contributors;
    info.late = (end.entry.flags & protocol::kCompletionLate) != 0 ? 1 : 0;
    info.resync = (end.entry.flags & protocol::kCompletionResync) != 0 ? 1 : 0;
    info.dense = (end.entry.flags & protocol::kCompletionDense) != 0 ? 1 : 0;
    info.entries = end.entry.entries;
    info.staleness = end.staleness;
    info.slowest_clock = end.entry.slowest_clock;
    info.contents = static_cast<int32_t>(end.contents);
}

// How an ended request is told. A message may be missing; a status without one says what it is.
pace_status report_end(pace_error* error, pace_status status, std::string_view message) {
    if (status == PACE_OK) return status;
    if (!message.empty()) return capi::report(error, status, client::printable(message, 400));
    return capi::report(error, status,
                        fmt::format("the request ended as {}", pace_status_name(status)));
}

// `unended` is the status of a request that is still in flight at the deadline.
Result<pace_status> wait(pace_session* session, pace_request request, TimePoint deadline,
                         pace_request_info* ret_info, pace_error* error, pace_status unended,
                         client::Waiter waiter = {}) {
    PACE_TRY_ASSIGN(info, read_info(ret_info));
    client::RequestEnd end;
    end.room = room_of(info);
    end.local_iteration = info.local_iteration;
    PACE_TRY_ASSIGN(ended,
                    session->session->wait(capi::handle_of(request), deadline, &end, waiter));
    if (!ended) {
        constexpr std::string_view kInFlight = "the request is still in flight; wait for it again";
        const std::string awaited = session->session->awaited(capi::handle_of(request));
        return capi::report(error, end.interrupted ? PACE_INTERRUPTED : unended,
                            awaited.empty()
                                ? std::string(kInFlight)
                                : fmt::format("{}: it waits for {}", kInFlight, awaited));
    }
    const pace_status status = capi::status_of(end.entry.outcome, end.entry.error_kind);
    fill(info, status, end);
    if (ret_info != nullptr)
        std::memcpy(ret_info, &info, std::min<size_t>(ret_info->struct_size, sizeof(info)));
    return report_end(error, status, end.message());
}

}  // namespace

pace_status pace_request_wait(pace_session* session, pace_request request, int64_t timeout_ms,
                              pace_request_info* ret_info, pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY_ASSIGN(deadline, deadline_of(timeout_ms));
        return wait(session, request, deadline, ret_info, error, PACE_TIMEOUT);
    });
}

pace_status pace_request_wait_stream(pace_session* session, pace_request request, void* cuda_stream,
                                     int64_t timeout_ms, pace_request_info* ret_info,
                                     pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY_ASSIGN(deadline, deadline_of(timeout_ms));
        return wait(session, request, deadline, ret_info, error, PACE_TIMEOUT,
                    {true, static_cast<pace::base::cuda::CUstream>(cuda_stream)});
    });
}

pace_status pace_request_test(pace_session* session, pace_request request,
                              pace_request_info* ret_info, pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(session, "session"));
        return wait(session, request, TimePoint::min(), ret_info, error, PACE_PENDING);
    });
}

pace_status pace_request_ready(pace_session* session, pace_request request, uint64_t elements,
                               pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        return session->session->ready(capi::handle_of(request), elements);
    });
}

pace_status pace_request_cancel(pace_session* session, pace_request request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        return session->session->cancel(capi::handle_of(request));
    });
}
