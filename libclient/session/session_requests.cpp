// Requests from their submission on, until they end.
#include <algorithm>

#include "libclient/requests/claims.h"
#include "libclient/requests/outside_memory.h"
#include "libclient/session/session.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using protocol::Order;
using protocol::Verb;

namespace {

// A daemon may die again and again while a verb is called. The caller then gets an error instead of
// waiting.
constexpr int kReconnectsPerCall = 2;

// The entry of the ring, but for the slices and the event of a GPU.
void write_operation(const Operation& operation, protocol::SubmissionEntry& entry) {
    entry.iteration = operation.iteration;
    entry.verb = operation.verb;
    entry.op = operation.op;
    entry.root = operation.root;
    entry.order = operation.order;
    entry.keeps_local = operation.keep_local ? 1 : 0;
    entry.sparse = operation.sparse ? 1 : 0;
    entry.first = operation.first;
    entry.entries = operation.entries;
}

}  // namespace

Result<RequestHandle> Session::submit(const Operation& operation) {
    PACE_TRY(check_open());
    PACE_TRY(check(operation, job_));
    if (operation.keep_local) {
        PACE_TRY(rehearse(operation));
        PACE_TRY(provide_copies(operation.slices));
    }
    for (int attempt = 0; attempt <= kReconnectsPerCall; ++attempt) {
        {
            std::unique_lock lock(mutex_);
            if (is_connected()) return begin(operation, lock);
        }
        const std::scoped_lock setup(setup_mutex_);
        PACE_TRY(reconnect());
    }
    return make_error(ErrorKind::unavailable,
                      "the daemon at {} dies as soon as the session has reconnected; see its log",
                      endpoint_.text());
}

// Checks whether the call could begin now. Nothing is changed.
Result<> Session::rehearse(const Operation& operation) {
    const std::scoped_lock lock(mutex_);
    PACE_TRY_ASSIGN(request, requests_.begin());
    request->order = operation.order;
    request->keeps_local = operation.keep_local;
    request->verb = operation.verb;
    auto possible = claim_all(operation, *request);
    abandon(*request);
    return possible;
}

// Claims the buffers, and makes the daemon read buffers on a GPU only when the trainer's stream has
// reached this point.
Result<> Session::claim_all(const Operation& operation, Request& request) {
    PACE_TRY(claim(buffers_, operation, request));
    PACE_TRY_ASSIGN(gpu, common_gpu(buffers_, operation, request));
    if (gpu == nullptr) return {};
    if (request.keeps_local || request.order != Order::all_at_once)
        return make_error(ErrorKind::invalid,
                          "buffers on a GPU are averaged all at once: leave out order and "
                          "keep_local, or use buffers on the host");
    PACE_TRY(gpu->record(request.slot(), request.id,
                         operation.after ? operation.after->stream : nullptr));
    request.gpu = gpus_.at(gpu->ordinal());
    request.gpu_order = request.gpu->order();
    return {};
}

// Undoes what was begun for a request that is not submitted.
void Session::abandon(Request& request) {
    release_claims(buffers_, request);
    requests_.abandon(request);
}

Result<RequestHandle> Session::begin(const Operation& operation,
                                     std::unique_lock<std::mutex>& lock) {
    PACE_TRY_ASSIGN(request, requests_.begin());
    request->verb = operation.verb;
    request->order = operation.order;
    request->iteration = operation.iteration;
    request->keeps_local = operation.keep_local;
    request->user_data = operation.user_data;
    if (auto claimed = claim_all(operation, *request); !claimed) {
        abandon(*request);
        return std::move(claimed).error();
    }
    const RequestHandle handle = requests_.handle(*request);
    // A request that has ended meanwhile is told like any other end. The request may also be in
    // another place than before.
    const bool is_staged_now = request->stages && request->order == Order::all_at_once;
    const bool copies =
        request->keeps_local || (is_staged_now && protocol::reads_buffers(request->verb));
    if (copies && !copy_buffers(handle.id, lock)) return handle;
    request = requests_.in_flight(handle.id);
    auto pushed = push(operation, *request);
    if (pushed) return handle;
    abandon(*request);
    if (pushed.error().kind == ErrorKind::limit) return std::move(pushed).error();
    lose(pushed.error().message);
    return make_error(ErrorKind::unavailable, "{}", gone_text(Request(), pushed.error().message));
}

Result<> Session::push(const Operation& operation, const Request& request) {
    ClientRing& ring = connection_->ring();
    PACE_TRY_ASSIGN(entry, ring.next_submission());
    entry->id = request.id;
    write_operation(operation, *entry);
    entry->slice_count = static_cast<uint16_t>(request.given);
    entry->out_of_place = request.is_out_of_place() ? 1 : 0;
    for (size_t i = 0; i < request.parts.size(); ++i) {
        const Part& part = request.parts[i];
        const Buffer& named = buffers_.at(part.buffer);
        const Buffer& averaged = request.keeps_local ? buffers_.at(named.copy.index) : named;
        const DaemonBuffer& daemon = averaged.daemon;
        entry->slices[i] = {daemon.index, daemon.generation, part.first, part.count};
    }
    // With a descriptor, the daemon tells the end of a request only when the result is there.
    entry->ends_on_host = request.gpu && signal_ ? 1 : 0;
    entry->event = request.gpu ? request.slot() + 1 : 0;
    if (request.gpu) request.gpu->submitted(request.slot(), request.id);
    ring.submit();
    return {};
}

// Copies the buffers of a new request. Returns false if the request has ended.
bool Session::copy_buffers(uint64_t id, std::unique_lock<std::mutex>& lock) {
    Request& request = *requests_.in_flight(id);
    if (request.keeps_local) {
        const std::vector<KeptBuffer> kept = kept_buffers(buffers_, request);
        return !work_outside(request, lock, [&] {
                    std::for_each(kept.begin(), kept.end(), take_copy);
                }).ended;
    }
    const std::vector<StagedPart> staged = staged_parts(buffers_, request.inputs());
    const uint64_t elements = request.elements;
    return !work_outside(request, lock, [&] { copy_in(staged, 0, elements); }).ended;
}

// Copies the first or last `elements` of a request in flight, as far as they are new. Returns false
// if the request has ended.
bool Session::copy_ready(Request& request, uint64_t elements, std::unique_lock<std::mutex>& lock) {
    const RequestHandle handle = requests_.handle(request);
    // Another thread may be copying elements of the same request.
    collected_.wait(lock, [&] {
        const auto now = requests_.find(handle);
        return !now || !(*now)->adding;
    });
    const auto found = requests_.find(handle);
    if (!found || (*found)->ended) return false;
    Request& now = **found;
    if (elements <= now.ready) return true;
    const bool is_forward = now.order == protocol::Order::forward;
    const uint64_t first = is_forward ? now.ready : now.elements - elements;
    const uint64_t count = elements - now.ready;
    const std::vector<StagedPart> staged = staged_parts(buffers_, now.inputs());
    return !work_outside(now, lock, [&] { copy_in(staged, first, count); }).ended;
}

// Works on the request's memory without the lock, which other threads need meanwhile. No thread
// collects the request before the work is done. The request's claim therefore keeps the buffers.
Request& Session::work_outside(Request& request, std::unique_lock<std::mutex>& lock,
                               const std::function<void()>& work) {
    const RequestHandle handle = requests_.handle(request);
    request.adding = true;
    lock.unlock();
    work();
    lock.lock();
    Request& now = **requests_.find(handle);
    now.adding = false;
    collected_.notify_all();
    return now;
}

Result<> Session::note(Verb verb, uint64_t iteration) {
    PACE_TRY(check_open());
    PACE_TRY(check_has_groups(job_));
    const std::scoped_lock lock(mutex_);
    // The next verb reconnects. Until then the note would help nobody.
    if (is_connected()) (void)connection_->ring().note(verb, iteration);
    return {};
}

Result<> Session::ready(RequestHandle handle, uint64_t elements) {
    PACE_TRY(check_open());
    std::unique_lock lock(mutex_);
    PACE_TRY_ASSIGN(request, requests_.find(handle));
    if (request->order == Order::all_at_once)
        return make_error(
            ErrorKind::invalid,
            "request has no order ({:#x}), so that all of it was ready at the call; set "
            "pace_average_options.order, or leave out pace_request_ready",
            handle.id);
    if (elements > request->elements)
        return make_error(ErrorKind::invalid,
                          "elements is {}, but the buffers of request {:#x} have {} together",
                          elements, handle.id, request->elements);
    if (request->ended || elements <= request->ready || !is_connected()) return {};
    if (request->stages && !copy_ready(*request, elements, lock)) return {};
    PACE_TRY_ASSIGN(request_now, requests_.find(handle));
    request = request_now;
    if (elements <= request->ready) return {};
    PACE_TRY(connection_->ring().note(Verb::ready, elements, handle.id));
    request->ready = elements;
    return {};
}

Result<> Session::cancel(RequestHandle handle) {
    PACE_TRY(check_open());
    std::shared_ptr<Connection> connection;
    {
        const std::scoped_lock lock(mutex_);
        PACE_TRY_ASSIGN(request, requests_.find(handle));
        // A request that has ended cannot be canceled any more. A wait tells how the request ended.
        if (request->ended || !is_connected()) return {};
        connection = connection_;
    }
    return connection->cancel(handle.id);
}

}  // namespace pace::client
