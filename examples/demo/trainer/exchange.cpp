#include "exchange.h"

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "job_options.h"

namespace demo {
namespace {

// The interval at which a waiting worker checks whether the run is over and whether its model is
// wanted.
constexpr int64_t kLookMs = 50;
constexpr int64_t kLeaveMs = 10'000;

void check(const std::string& what, pace_status status, const pace_error& error) {
    if (status != PACE_OK)
        throw std::runtime_error(
            fmt::format("{}: {}: {}", what, pace_status_name(status), error.message));
}

bool never() {
    return false;
}

}  // namespace

Exchange::Exchange(const Options& options) : world_(options.world) {
    const JobOptions job(options);
    pace_session* session = nullptr;
    pace_error error{};
    check("join the job", pace_session_open(job.get(), &session, &error), error);
    session_.reset(session);
}

Buffer Exchange::make_buffer(size_t count) {
    Buffer buffer;
    void* data = nullptr;
    pace_error error{};
    check(
        "make a buffer",
        pace_buffer_create(session_.get(), PACE_F32, count, nullptr, &buffer.handle, &data, &error),
        error);
    buffer.values = {static_cast<float*>(data), count};
    return buffer;
}

void Exchange::leave() {
    pace_error error{};
    check("leave the job", pace_session_leave(session_.get(), kLeaveMs, &error), error);
}

Outcome Exchange::run(const char* verb, const Begin& begin,
                      const std::function<bool()>& should_leave) {
    for (;;) {
        Outcome outcome;
        outcome.members.resize(world_);
        outcome.info = PACE_REQUEST_INFO_INIT;
        pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
        how.members = outcome.members.data();
        how.member_capacity = outcome.members.size();

        pace_request request{};
        pace_error error{};
        check(verb, begin(&request, &error), error);
        pace_status status = PACE_TIMEOUT;
        while (status == PACE_TIMEOUT) {
            status =
                pace_request_wait(session_.get(), request, kLookMs, &how, &outcome.info, &error);
            if (status == PACE_TIMEOUT && should_leave())
                check(verb, pace_request_cancel(session_.get(), request, &error), error);
        }
        // The failure was elsewhere, and the buffers are unchanged. So the same call again is
        // right.
        if (status == PACE_ABORTED) continue;
        if (status != PACE_CANCELED) check(verb, status, error);
        outcome.done = status == PACE_OK;
        outcome.members.resize(outcome.done ? outcome.info.member_listed : 0);
        return outcome;
    }
}

Outcome Exchange::broadcast(const Buffer& buffer, uint32_t root) {
    pace_broadcast_options options = PACE_BROADCAST_OPTIONS_INIT;
    options.root = root;
    const pace_slice slice = PACE_WHOLE(buffer.handle);
    const Begin begin = [&](pace_request* request, pace_error* error) {
        return pace_broadcast(session_.get(), &slice, 1, &options, request, error);
    };
    return run("broadcast", begin, never);
}

Outcome Exchange::barrier() {
    const Begin begin = [&](pace_request* request, pace_error* error) {
        return pace_barrier(session_.get(), nullptr, request, error);
    };
    return run("barrier", begin, never);
}

Outcome Exchange::sync(const std::vector<pace_buffer>& buffers,
                       const std::function<void()>& meanwhile) {
    std::vector<pace_slice> slices;
    for (const pace_buffer& buffer : buffers) slices.push_back(PACE_WHOLE(buffer));
    const Begin begin = [&](pace_request* request, pace_error* error) {
        return pace_sync(session_.get(), slices.data(), slices.size(), nullptr, request, error);
    };
    return run("sync", begin, [&] {
        meanwhile();
        return false;
    });
}

Outcome Exchange::reduce(const Buffer& buffer, uint64_t iteration) {
    pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
    options.op = PACE_OP_MEAN;
    options.call.iteration = iteration;
    const pace_slice slice = PACE_WHOLE(buffer.handle);
    const Begin begin = [&](pace_request* request, pace_error* error) {
        return pace_reduce(session_.get(), &slice, 1, &options, request, error);
    };
    return run("reduce", begin, never);
}

Outcome Exchange::average(const Buffer& buffer, uint64_t iteration,
                          const std::function<bool()>& should_leave) {
    pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
    options.call.iteration = iteration;
    const pace_slice slice = PACE_WHOLE(buffer.handle);
    const Begin begin = [&](pace_request* request, pace_error* error) {
        return pace_average(session_.get(), &slice, 1, &options, request, error);
    };
    return run("average", begin, should_leave);
}

}  // namespace demo
