// The verbs.
#include <optional>
#include <span>
#include <vector>

#include "capi/device.h"
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
constexpr capi::StructName kBroadcast{"options", "PACE_BROADCAST_OPTIONS_INIT"};
constexpr capi::StructName kSync{"options", "PACE_SYNC_OPTIONS_INIT"};
constexpr capi::StructName kBarrier{"options", "PACE_BARRIER_OPTIONS_INIT"};
constexpr capi::StructName kPush{"options", "PACE_PUSH_OPTIONS_INIT"};
constexpr capi::StructName kPull{"options", "PACE_PULL_OPTIONS_INIT"};
constexpr capi::StructName kCheckpoint{"options", "PACE_CHECKPOINT_OPTIONS_INIT"};
constexpr capi::StructName kResidual{"options", "PACE_RESIDUAL_OPTIONS_INIT"};

static_assert(PACE_ORDER_FORWARD == static_cast<int>(protocol::Order::forward));
static_assert(PACE_ORDER_BACKWARD == static_cast<int>(protocol::Order::backward));
static_assert(PACE_OP_MEAN == static_cast<int>(ReduceOp::mean));
static_assert(PACE_OP_SUM == static_cast<int>(ReduceOp::sum));

// Whether the call tells the worker's step to the daemon. The other verbs do not tell the step.
bool takes_iteration(Verb verb) {
    return verb == Verb::average || verb == Verb::reduce || verb == Verb::push ||
           verb == Verb::pull;
}

// The arguments of a verb, apart from its options.
struct Called {
    pace_session* session;
    const pace_slice* slices;
    size_t count;
    pace_request* ret_request;
    pace_error* error;
};

Result<> check_call(const pace_call& call) {
    PACE_TRY(capi::check_reserved(call.flags, "options->call.flags"));
    for (const uint64_t reserved : call.reserved)
        PACE_TRY(capi::check_reserved(reserved, "options->call.reserved"));
    return capi::check_stream(call.stream, call.device, "options->call.");
}

Result<> check_slices(const Called& called, Verb verb) {
    if (!protocol::has_buffers(verb)) return {};
    PACE_TRY(capi::require(called.slices, "slices"));
    if (called.count != 0 && called.count <= protocol::kBuffersPerExchangeMax) return {};
    return make_error(ErrorKind::invalid, "count is {}; give 1 to {} slices", called.count,
                      protocol::kBuffersPerExchangeMax);
}

Result<> check_results(const pace_call& call, size_t count) {
    const bool is_whole = (call.results == nullptr) == (call.result_count == 0);
    if (is_whole && call.result_count <= protocol::kBuffersPerExchangeMax) return {};
    return make_error(ErrorKind::invalid,
                      "options->call.results is {} and options->call.result_count {}; give a "
                      "result for each of the {} slices, or leave both out",
                      call.results == nullptr ? "NULL" : "given", call.result_count, count);
}

// Submits `operation` on the caller's slices, with the fields of its pace_call.
Result<pace_status> submit(const Called& called, const pace_call& call,
                           client::Operation operation) {
    PACE_TRY(capi::require(called.session, "session"));
    PACE_TRY(capi::require(called.ret_request, "ret_request"));
    PACE_TRY(check_call(call));
    if (const auto refused = capi::refuse_device(call.device, "options->call.device", called.error))
        return *refused;
    PACE_TRY(check_slices(called, operation.verb));
    PACE_TRY(check_results(call, called.count));
    // One allocation costs less than clearing room for the largest possible number of slices.
    std::vector<client::Slice> slices;
    slices.reserve(called.count + call.result_count);
    for (size_t i = 0; i < called.count; ++i) slices.push_back(capi::slice_of(called.slices[i]));
    for (size_t i = 0; i < call.result_count; ++i)
        slices.push_back(capi::slice_of(call.results[i]));
    operation.slices = std::span(slices).first(called.count);
    operation.results = std::span(slices).subspan(called.count);
    operation.iteration = takes_iteration(operation.verb) ? call.iteration : 0;
    operation.user_data = call.user_data;
    if (const auto gpu = capi::gpu_of(call.device))
        operation.after =
            client::Stream{*gpu, static_cast<pace::base::cuda::CUstream>(call.stream)};
    PACE_TRY_ASSIGN(request, called.session->session->submit(operation));
    *called.ret_request = {request.session, request.id};
    return PACE_OK;
}

// Calls a verb whose only options are its pace_call.
template <typename Options>
pace_status call_plainly(Verb verb, const Called& called, const Options* options,
                         capi::StructName name) {
    return capi::guard(called.error, [&]() -> Result<pace_status> {
        PACE_TRY_ASSIGN(given, capi::read_optional(options, name));
        client::Operation operation;
        operation.verb = verb;
        return submit(called, given.call, operation);
    });
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

Result<> check_push(const pace_push_options& given) {
    PACE_TRY(capi::check_reserved(given.reserved, "options->reserved"));
    if (given.sparse > 1)
        return make_error(ErrorKind::invalid, "options->sparse is {}; use 0 or 1", given.sparse);
    if (given.sparse == 0 && given.entries != 0)
        return make_error(ErrorKind::invalid,
                          "options->entries is {}, which counts with sparse = 1 only; set that, "
                          "or leave entries out: a dense push has as many as its buffers",
                          given.entries);
    if (given.sparse == 1 && given.first != 0)
        return make_error(ErrorKind::invalid,
                          "options->first is {}, but the indices of a sparse push count from "
                          "the model's first element; leave it out",
                          given.first);
    return {};
}

}  // namespace

pace_status pace_average(pace_session* session, const pace_slice* slices, size_t count,
                         const pace_average_options* options, pace_request* ret_request,
                         pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(options, "options"));
        PACE_TRY_ASSIGN(given, capi::read_options(options, kAverage));
        PACE_TRY(check_average(given));
        client::Operation operation;
        operation.verb = Verb::average;
        operation.order = static_cast<protocol::Order>(given.order);
        operation.keep_local = given.keep_local == 1;
        return submit({session, slices, count, ret_request, error}, given.call, operation);
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

pace_status pace_reduce(pace_session* session, const pace_slice* slices, size_t count,
                        const pace_reduce_options* options, pace_request* ret_request,
                        pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY_ASSIGN(given, capi::read_optional(options, kReduce));
        PACE_TRY(capi::check_reserved(given.reserved, "options->reserved"));
        if (given.op != PACE_OP_MEAN && given.op != PACE_OP_SUM)
            return make_error(ErrorKind::invalid,
                              "options->op is {}; use PACE_OP_MEAN or PACE_OP_SUM", given.op);
        client::Operation operation;
        operation.verb = Verb::reduce;
        operation.op = static_cast<ReduceOp>(given.op);
        return submit({session, slices, count, ret_request, error}, given.call, operation);
    });
}

pace_status pace_broadcast(pace_session* session, const pace_slice* slices, size_t count,
                           const pace_broadcast_options* options, pace_request* ret_request,
                           pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY_ASSIGN(given, capi::read_optional(options, kBroadcast));
        PACE_TRY(capi::check_reserved(given.reserved, "options->reserved"));
        client::Operation operation;
        operation.verb = Verb::broadcast;
        operation.root = given.root;
        return submit({session, slices, count, ret_request, error}, given.call, operation);
    });
}

pace_status pace_sync(pace_session* session, const pace_slice* slices, size_t count,
                      const pace_sync_options* options, pace_request* ret_request,
                      pace_error* error) {
    return call_plainly(Verb::sync, {session, slices, count, ret_request, error}, options, kSync);
}

pace_status pace_barrier(pace_session* session, const pace_barrier_options* options,
                         pace_request* ret_request, pace_error* error) {
    return call_plainly(Verb::barrier, {session, nullptr, 0, ret_request, error}, options,
                        kBarrier);
}

pace_status pace_push(pace_session* session, const pace_slice* slices, size_t count,
                      const pace_push_options* options, pace_request* ret_request,
                      pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(options, "options"));
        PACE_TRY_ASSIGN(given, capi::read_options(options, kPush));
        PACE_TRY(check_push(given));
        client::Operation operation;
        operation.verb = Verb::push;
        operation.sparse = given.sparse == 1;
        operation.first = given.first;
        operation.entries = given.entries;
        return submit({session, slices, count, ret_request, error}, given.call, operation);
    });
}

pace_status pace_pull(pace_session* session, const pace_slice* slices, size_t count,
                      const pace_pull_options* options, pace_request* ret_request,
                      pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(options, "options"));
        PACE_TRY_ASSIGN(given, capi::read_options(options, kPull));
        client::Operation operation;
        operation.verb = Verb::pull;
        operation.first = given.first;
        return submit({session, slices, count, ret_request, error}, given.call, operation);
    });
}

pace_status pace_checkpoint(pace_session* session, const pace_checkpoint_options* options,
                            pace_request* ret_request, pace_error* error) {
    return call_plainly(Verb::checkpoint, {session, nullptr, 0, ret_request, error}, options,
                        kCheckpoint);
}

pace_status pace_residual_save(pace_session* session, const pace_slice* slices, size_t count,
                               const pace_residual_options* options, pace_request* ret_request,
                               pace_error* error) {
    return call_plainly(Verb::residual_save, {session, slices, count, ret_request, error}, options,
                        kResidual);
}

pace_status pace_residual_load(pace_session* session, const pace_slice* slices, size_t count,
                               const pace_residual_options* options, pace_request* ret_request,
                               pace_error* error) {
    return call_plainly(Verb::residual_load, {session, slices, count, ret_request, error}, options,
                        kResidual);
}
