// The verbs.
#include <array>
#include <span>

#include "capi/guard.h"
#include "capi/handle.h"
#include "capi/options.h"

using pace::base::ErrorKind;
using pace::base::make_error;
using pace::base::Result;
using pace::protocol::ReduceOp;
using pace::protocol::Verb;
namespace capi = pace::capi;
namespace client = pace::client;
namespace protocol = pace::protocol;

namespace {

constexpr capi::StructName kAverage{"options", "PACE_AVERAGE_OPTIONS_INIT"};
constexpr capi::StructName kReduce{"options", "PACE_REDUCE_OPTIONS_INIT"};
constexpr capi::StructName kPush{"options", "PACE_PUSH_OPTIONS_INIT"};
constexpr capi::StructName kPull{"options", "PACE_PULL_OPTIONS_INIT"};

static_assert(PACE_ORDER_FORWARD == static_cast<int>(protocol::Order::forward));
static_assert(PACE_ORDER_BACKWARD == static_cast<int>(protocol::Order::backward));
static_assert(PACE_OP_MEAN == static_cast<int>(ReduceOp::mean));
static_assert(PACE_OP_SUM == static_cast<int>(ReduceOp::sum));

// Submits `operation` on the caller's buffers.
Result<> submit(pace_session* session, client::Operation operation, const pace_buffer* buffers,
                size_t count, pace_request* ret_request) {
    PACE_TRY(capi::require(session, "session"));
    PACE_TRY(capi::require(ret_request, "ret_request"));
    if (protocol::has_buffers(operation.verb)) {
        PACE_TRY(capi::require(buffers, "buffers"));
        if (count == 0 || count > protocol::kBuffersPerExchangeMax)
            return make_error(ErrorKind::invalid, "count is {}; give 1 to {} buffers", count,
                              protocol::kBuffersPerExchangeMax);
    }
    std::array<client::BufferHandle, protocol::kBuffersPerExchangeMax> handles;
    for (size_t i = 0; i < count; ++i) handles[i] = capi::handle_of(buffers[i]);
    operation.buffers = std::span(handles.data(), count);
    PACE_TRY_ASSIGN(request, session->session->submit(operation));
    *ret_request = {request.session, request.id};
    return {};
}

Result<> check_average(const pace_average_options& given) {
    if (given.order < PACE_ORDER_DEFAULT || given.order > PACE_ORDER_BACKWARD)
        return make_error(ErrorKind::invalid,
                          "options->order is {}; use one of PACE_ORDER_FORWARD, "
                          "PACE_ORDER_BACKWARD, or 0 if all is ready",
                          given.order);
    if (given.keep_local > 1)
        return make_error(ErrorKind::invalid, "options->keep_local is {}; use 0 or 1",
                          given.keep_local);
    if (given.keep_local == 1 && given.order != PACE_ORDER_DEFAULT)
        return make_error(ErrorKind::invalid,
                          "options->keep_local is 1 and options->order {}; a copy is ready as a "
                          "whole: leave one of them out",
                          given.order);
    return {};
}

}  // namespace

pace_status pace_average(pace_session* session, const pace_buffer* buffers, size_t count,
                         uint64_t iteration, const pace_average_options* options,
                         pace_request* ret_request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY_ASSIGN(given, capi::read_optional(options, kAverage));
        PACE_TRY(capi::check_reserved(given.reserved, "options->reserved"));
        PACE_TRY(check_average(given));
        client::Operation operation;
        operation.verb = Verb::average;
        operation.iteration = iteration;
        operation.order = static_cast<protocol::Order>(given.order);
        operation.keep_local = given.keep_local == 1;
        return submit(session, operation, buffers, count, ret_request);
    });
}

pace_status pace_announce(pace_session* session, uint64_t iteration, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        return session->session->note(Verb::announce, iteration);
    });
}

pace_status pace_withdraw(pace_session* session, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        return session->session->note(Verb::take_back, 0);
    });
}

pace_status pace_reduce(pace_session* session, const pace_buffer* buffers, size_t count,
                        const pace_reduce_options* options, pace_request* ret_request,
                        pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY_ASSIGN(given, capi::read_optional(options, kReduce));
        if (given.op != PACE_OP_MEAN && given.op != PACE_OP_SUM)
            return make_error(ErrorKind::invalid,
                              "options->op is {}; use PACE_OP_MEAN or PACE_OP_SUM", given.op);
        client::Operation operation;
        operation.verb = Verb::reduce;
        operation.iteration = given.iteration;
        operation.op = static_cast<ReduceOp>(given.op);
        return submit(session, operation, buffers, count, ret_request);
    });
}

pace_status pace_broadcast(pace_session* session, const pace_buffer* buffers, size_t count,
                           uint32_t root, pace_request* ret_request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        client::Operation operation;
        operation.verb = Verb::broadcast;
        operation.root = root;
        return submit(session, operation, buffers, count, ret_request);
    });
}

pace_status pace_sync(pace_session* session, const pace_buffer* buffers, size_t count,
                      pace_request* ret_request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        client::Operation operation;
        operation.verb = Verb::sync;
        return submit(session, operation, buffers, count, ret_request);
    });
}

pace_status pace_barrier(pace_session* session, pace_request* ret_request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        client::Operation operation;
        operation.verb = Verb::barrier;
        return submit(session, operation, nullptr, 0, ret_request);
    });
}

pace_status pace_push(pace_session* session, const pace_buffer* buffers, size_t count,
                      uint64_t clock, const pace_push_options* options, pace_request* ret_request,
                      pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY_ASSIGN(given, capi::read_optional(options, kPush));
        if (given.sparse > 1)
            return make_error(ErrorKind::invalid, "options->sparse is {}; use 0 or 1",
                              given.sparse);
        if (given.sparse == 0 && given.entries != 0)
            return make_error(
                ErrorKind::invalid,
                "options->entries is {}, which counts with sparse = 1 only; set that, "
                "or leave entries out: a dense push has as many as its buffers",
                given.entries);
        if (given.sparse == 1 && given.first != 0)
            return make_error(ErrorKind::invalid,
                              "options->first is {}, but the indices of a sparse push count from "
                              "the model's first element; leave it out",
                              given.first);
        client::Operation operation;
        operation.verb = Verb::push;
        operation.iteration = clock;
        operation.sparse = given.sparse == 1;
        operation.first = given.first;
        operation.entries = given.entries;
        return submit(session, operation, buffers, count, ret_request);
    });
}

pace_status pace_pull(pace_session* session, const pace_buffer* buffers, size_t count,
                      uint64_t clock, const pace_pull_options* options, pace_request* ret_request,
                      pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY_ASSIGN(given, capi::read_optional(options, kPull));
        PACE_TRY(capi::check_reserved(given.reserved, "options->reserved"));
        client::Operation operation;
        operation.verb = Verb::pull;
        operation.iteration = clock;
        operation.first = given.first;
        return submit(session, operation, buffers, count, ret_request);
    });
}

pace_status pace_checkpoint(pace_session* session, pace_request* ret_request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        client::Operation operation;
        operation.verb = Verb::checkpoint;
        return submit(session, operation, nullptr, 0, ret_request);
    });
}

pace_status pace_residual_save(pace_session* session, const pace_buffer* buffers, size_t count,
                               pace_request* ret_request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        client::Operation operation;
        operation.verb = Verb::residual_save;
        return submit(session, operation, buffers, count, ret_request);
    });
}

pace_status pace_residual_load(pace_session* session, const pace_buffer* buffers, size_t count,
                               pace_request* ret_request, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        client::Operation operation;
        operation.verb = Verb::residual_load;
        return submit(session, operation, buffers, count, ret_request);
    });
}
