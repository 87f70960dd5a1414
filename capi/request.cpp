// Requests: waiting, testing, canceling.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "capi/device.h"
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

// A session has no more requests in flight.
constexpr size_t kWantedMax = 64;

constexpr capi::StructName kRequestInfo{"ret_info", "PACE_REQUEST_INFO_INIT"};
constexpr capi::StructName kWait{"options", "PACE_WAIT_OPTIONS_INIT"};

// Marks the caller's info, if there is one, as an info that tells nothing yet. From then on its
// contents come from the request.
Result<> void_info(pace_request_info* info) {
    if (info == nullptr) return {};
    PACE_TRY(capi::check_size(info->struct_size, kRequestInfo));
    constexpr size_t kUntilStatus = offsetof(pace_request_info, status) + sizeof(info->status);
    if (info->struct_size >= kUntilStatus) info->status = PACE_PENDING;
    return {};
}

struct Wait {
    TimePoint deadline;
    bool only_looks;
    pace_wait_options options;
};

Result<Wait> read_wait(int64_t timeout_ms, const pace_wait_options* given) {
    PACE_TRY_ASSIGN(deadline, capi::deadline_of(timeout_ms));
    PACE_TRY_ASSIGN(options, capi::read_optional(given, kWait));
    if ((options.flags & ~uint32_t{PACE_WAIT_SIGNALS | PACE_WAIT_QUEUED}) != 0)
        return make_error(ErrorKind::invalid,
                          "options->flags is {:#x}; use PACE_WAIT_SIGNALS, PACE_WAIT_QUEUED, both "
                          "or nothing",
                          options.flags);
    if (options.members == nullptr && options.member_capacity != 0)
        return make_error(ErrorKind::invalid,
                          "options->members is NULL but member_capacity is {}; give both or "
                          "neither",
                          options.member_capacity);
    PACE_TRY(capi::check_stream(options.stream, options.device, "options->"));
    if ((options.flags & PACE_WAIT_QUEUED) != 0 && options.device.type != PACE_DEVICE_CUDA)
        return make_error(
            ErrorKind::invalid,
            "options->flags has PACE_WAIT_QUEUED, but options->device is no GPU; name "
            "the GPU and the stream that is to wait");
    return Wait{deadline, timeout_ms == 0, options};
}

// Only pace_request_wait has a single request, and a status for a wait that is queued.
Result<Wait> read_unqueued(int64_t timeout_ms, const pace_wait_options* given) {
    PACE_TRY_ASSIGN(how, read_wait(timeout_ms, given));
    if ((how.options.flags & PACE_WAIT_QUEUED) == 0) return how;
    return make_error(ErrorKind::invalid,
                      "options->flags has PACE_WAIT_QUEUED, which only pace_request_wait takes");
}

// A caller that only looks does so because the descriptor says that a request has ended. Such a
// caller is not told to look again.
client::Waiter waiter_of(const Wait& how) {
    const auto gpu = capi::gpu_of(how.options.device);
    return {(how.options.flags & PACE_WAIT_SIGNALS) != 0,
            gpu.has_value(),
            gpu.value_or(0),
            static_cast<pace::base::cuda::CUstream>(how.options.stream),
            (how.options.flags & PACE_WAIT_QUEUED) != 0,
            how.only_looks};
}

// pace_member has the layout of MemberEntry (handle.h asserts this) and has no invariant of its
// own.
std::span<protocol::MemberEntry> room_of(const pace_wait_options& options) {
    return {reinterpret_cast<protocol::MemberEntry*>(options.members), options.member_capacity};
}

// The completion has one field for three kinds of numbers.
void number(pace_request_info& info, protocol::Verb verb, uint64_t number) {
    switch (verb) {
        case protocol::Verb::average:
            info.group = number;
            break;
        case protocol::Verb::pull:
        case protocol::Verb::checkpoint:
            info.version = number;
            break;
        default:
            info.round = number;
    }
}

void fill(pace_request_info& info, pace_status status, const client::RequestEnd& end) {
    info.status = status;
    info.iteration = end.entry.iteration;
    info.user_data = end.user_data;
    number(info, end.verb, end.entry.group);
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

// Reports how a request ended. A message may be missing. The text then names the status.
pace_status report_end(pace_error* error, pace_status status, std::string_view message) {
    if (status == PACE_OK) return status;
    if (!message.empty()) return capi::report(error, status, client::printable(message, 400));
    return capi::report(error, status,
                        fmt::format("the request ended as {}", pace_status_name(status)));
}

using Wanted = std::span<const client::RequestHandle>;

pace_status report_unended(pace_session* session, Wanted requests, pace_status status,
                           pace_error* error) {
    if (requests.empty())
        return capi::report(error, status, "no request has ended yet; wait for the next again");
    const std::string_view kInFlight =
        requests.size() == 1 ? "the request is still in flight; wait for it again"
                             : "the requests are all still in flight; wait for them again";
    const std::string awaited = session->session->awaited(requests.front());
    return capi::report(error, status,
                        awaited.empty() ? std::string(kInFlight)
                                        : fmt::format("{}: it waits for {}", kInFlight, awaited));
}

// Waits for one of the requests. If there are no requests, waits for the next request of the
// session that ends. `unended` is the status if all requests are still in flight at the deadline.
Result<pace_status> wait(pace_session* session, Wanted requests, const Wait& how,
                         pace_status unended, pace_request* ret_request,
                         pace_request_info* ret_info, pace_error* error) {
    if (const auto refused = capi::refuse_device(how.options.device, "options->device", error))
        return *refused;
    const client::Waiter waiter = waiter_of(how);
    client::RequestEnd end;
    end.room = room_of(how.options);
    end.local_iteration = how.options.local_iteration;
    client::Session& inside = *session->session;
    PACE_TRY_ASSIGN(ended, requests.empty()
                               ? inside.next(how.deadline, &end, waiter)
                               : inside.wait_any(requests, how.deadline, &end, waiter));
    if (end.queued)
        return capi::report(error, PACE_PENDING,
                            "the stream waits for the request, which is in flight; collect it "
                            "later");
    if (!ended)
        return report_unended(session, requests, end.interrupted ? PACE_INTERRUPTED : unended,
                              error);
    const pace_status status = capi::status_of(end.entry.outcome, end.entry.error_kind);
    if (ret_request != nullptr) *ret_request = {end.handle.session, end.handle.id};
    if (ret_info != nullptr) {
        pace_request_info info = PACE_REQUEST_INFO_INIT;
        info.struct_size = ret_info->struct_size;
        fill(info, status, end);
        capi::give(*ret_info, info);
    }
    return report_end(error, status, end.message());
}

}  // namespace

pace_status pace_request_wait(pace_session* session, pace_request request, int64_t timeout_ms,
                              const pace_wait_options* options, pace_request_info* ret_info,
                              pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(void_info(ret_info));
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY_ASSIGN(how, read_wait(timeout_ms, options));
        const client::RequestHandle handle = capi::handle_of(request);
        return wait(session, {&handle, 1}, how, PACE_TIMEOUT, nullptr, ret_info, error);
    });
}

pace_status pace_request_wait_any(pace_session* session, const pace_request* requests, size_t count,
                                  int64_t timeout_ms, const pace_wait_options* options,
                                  pace_request* ret_request, pace_request_info* ret_info,
                                  pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(void_info(ret_info));
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(requests, "requests"));
        PACE_TRY(capi::require(ret_request, "ret_request"));
        if (count == 0 || count > kWantedMax)
            return make_error(ErrorKind::invalid, "count is {}; give 1 to {} requests", count,
                              kWantedMax);
        PACE_TRY_ASSIGN(how, read_unqueued(timeout_ms, options));
        std::array<client::RequestHandle, kWantedMax> handles;
        std::transform(requests, requests + count, handles.begin(),
                       [](const pace_request& request) { return capi::handle_of(request); });
        return wait(session, std::span(handles).first(count), how, PACE_TIMEOUT, ret_request,
                    ret_info, error);
    });
}

pace_status pace_request_test(pace_session* session, pace_request request,
                              const pace_wait_options* options, pace_request_info* ret_info,
                              pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(void_info(ret_info));
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY_ASSIGN(how, read_unqueued(0, options));
        how.deadline = TimePoint::min();
        const client::RequestHandle handle = capi::handle_of(request);
        return wait(session, {&handle, 1}, how, PACE_PENDING, nullptr, ret_info, error);
    });
}

pace_status pace_session_next(pace_session* session, int64_t timeout_ms,
                              const pace_wait_options* options, pace_request* ret_request,
                              pace_request_info* ret_info, pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(void_info(ret_info));
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(ret_request, "ret_request"));
        PACE_TRY_ASSIGN(how, read_unqueued(timeout_ms, options));
        return wait(session, {}, how, PACE_TIMEOUT, ret_request, ret_info, error);
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
