// Buffers on GPUs: opening the devices, and keeping the order between the trainer's streams and the
// daemon's streams.
#include <algorithm>

#include "libclient/session.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

// The pauses between looks for a result on its way to the GPU. A pause is too short to be noticed
// and longer than a look takes.
constexpr base::Duration kPauseMin = std::chrono::microseconds(5);
constexpr base::Duration kPauseMax = std::chrono::milliseconds(1);

}  // namespace

Result<Gpu*> Session::open_gpu(uint32_t ordinal, Connection& connection) {
    {
        const std::scoped_lock lock(mutex_);
        const auto known = gpus_.find(ordinal);
        if (known != gpus_.end()) return known->second.get();
    }
    PACE_TRY_ASSIGN(gpu, Gpu::open(ordinal, connection.ring().slots()));
    PACE_TRY_ASSIGN(theirs, connection.share_events(*gpu, base::now() + connect_));
    PACE_TRY(gpu->adopt_events(theirs));
    const std::scoped_lock lock(mutex_);
    return gpus_.emplace(ordinal, std::move(gpu)).first->second.get();
}

// Shares the session's GPUs with a daemon that does not know them yet.
Result<> Session::share_gpus(Connection& connection, TimePoint deadline) {
    std::map<uint32_t, std::shared_ptr<Gpu>> gpus;
    {
        const std::scoped_lock lock(mutex_);
        gpus = gpus_;
    }
    for (const auto& [ordinal, gpu] : gpus) {
        PACE_TRY_ASSIGN(theirs, connection.share_events(*gpu, deadline));
        const std::scoped_lock lock(mutex_);
        PACE_TRY(gpu->adopt_events(theirs));
    }
    return {};
}

Result<BufferInfo> Session::buffer_info(BufferHandle handle) {
    PACE_TRY(check_open());
    const std::scoped_lock lock(mutex_);
    PACE_TRY_ASSIGN(buffer, buffers_.find(handle));
    return describe(*buffer);
}

Result<SharedBuffer> Session::share_buffer(BufferHandle handle) {
    PACE_TRY(check_open());
    const std::scoped_lock lock(mutex_);
    PACE_TRY_ASSIGN(buffer, buffers_.find(handle));
    SharedBuffer shared{describe(*buffer), nullptr};
    if (buffer->gpu() == nullptr && !shared.info.staged) shared.memory = buffer->memory;
    if (buffer->gpu() != nullptr && buffer->gpu_memory->outlives_daemon())
        shared.memory = buffer->gpu_memory;
    return shared;
}

BufferInfo Session::describe(Buffer& buffer) {
    const uint32_t device = buffer.gpu() == nullptr ? 0 : buffer.gpu()->ordinal() + 1;
    const bool is_staged = buffer.is_staged();
    const bool has_twin = is_staged || device != 0;
    return BufferInfo{.type = buffer.type,
                      .count = buffer.count,
                      .device = device,
                      .data = buffer.data(),
                      .restored = buffer.restored,
                      .staged = is_staged,
                      .twin_bytes = has_twin ? buffer.count * size_of(buffer.type) : 0};
}

namespace {

Result<> check_stream(const Operation& operation, const Gpu* gpu) {
    if (!operation.after) return {};
    if (gpu == nullptr)
        return make_error(
            ErrorKind::invalid,
            "options->call.device is GPU {}, but the call names no buffer there; leave "
            "device and stream out",
            operation.after->ordinal);
    if (operation.after->ordinal == gpu->ordinal()) return {};
    return make_error(
        ErrorKind::invalid,
        "options->call.device is GPU {}, but the buffers are on GPU {}; give a stream of "
        "that",
        operation.after->ordinal, gpu->ordinal());
}

}  // namespace

// Makes the daemon read the buffers only when the trainer's stream has reached this point.
Result<> Session::order(const Operation& operation, Request& request) {
    Gpu* gpu = nullptr;
    for (size_t i = 0; i < request.parts.size(); ++i) {
        const bool is_given = i < request.given;
        const std::string_view name = is_given ? "slices" : kResults;
        const size_t number = is_given ? i : i - request.given;
        const Buffer& buffer = buffers_.at(request.parts[i].buffer);
        if (i == 0) gpu = buffer.gpu();
        if (buffer.gpu() != gpu)
            return make_error(ErrorKind::invalid,
                              "{}[{}] is not where slices[0] is: the buffers of one call are "
                              "all on one GPU, or all on the host",
                              name, number);
        if (gpu != nullptr && request.parts[i].count != buffer.count)
            return make_error(ErrorKind::invalid,
                              "{}[{}] is a part of a buffer on a GPU; a call takes such a "
                              "buffer as a whole",
                              name, number);
    }
    PACE_TRY(check_stream(operation, gpu));
    if (gpu == nullptr) return {};
    if (request.keeps_local || request.order != protocol::Order::all_at_once)
        return make_error(ErrorKind::invalid,
                          "buffers on a GPU are averaged all at once: leave out order and "
                          "keep_local, or use buffers on the host");
    PACE_TRY(gpu->record(request.slot(), operation.after ? operation.after->stream : nullptr));
    request.gpu = gpus_.at(gpu->ordinal());
    request.daemon_events = request.gpu->daemon_events();
    return {};
}

// Waits until the result of an ended request is there, or orders the waiter's stream behind the
// result. Returns false if the result is not there at the deadline.
Result<bool> Session::meet_gpu(RequestHandle handle, TimePoint deadline, Waiter waiter,
                               std::unique_lock<std::mutex>& lock) {
    for (base::Duration pause = kPauseMin;; pause = std::min(2 * pause, kPauseMax)) {
        PACE_TRY_ASSIGN(request, requests_.find(handle));
        if ((request->end.entry.flags & protocol::kCompletionOnDevice) == 0) return true;
        // A daemon that dies may leave its last copies undone, even if its events say otherwise.
        if (!is_connected() || request->daemon_events != request->gpu->daemon_events()) {
            fill_gone(request->end, "the daemon died while the result was on its way to the GPU");
            return true;
        }
        const uint32_t slot = request->slot();
        if (waiter.is_stream) {
            if (waiter.ordinal != request->gpu->ordinal())
                return make_error(ErrorKind::invalid,
                                  "options->device.id is {}, but the buffers are on GPU {}; give a "
                                  "stream of that",
                                  waiter.ordinal, request->gpu->ordinal());
            PACE_TRY(request->gpu->await_on(slot, waiter.stream));
            return true;
        }
        const auto come = request->gpu->has_come(slot);
        if (!come) {
            fill_gone(request->end, come.error().message);
            return true;
        }
        if (*come) return true;
        if (base::now() >= deadline) return false;
        // The driver knows neither the deadline nor the daemon's death, so the thread looks again.
        collected_.wait_for(lock, pause);
    }
}

}  // namespace pace::client
