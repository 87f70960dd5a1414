// Memory that stays the trainer's own while a copy of it is in a call: averages of copies
// (local_progress.h) and staged memory (staging.h).
#include <algorithm>

#include "libclient/session.h"

namespace pace::client {

using base::Result;
using base::TimePoint;

namespace {

// The number of elements to add or copy between two looks at the clock. A piece takes well below a
// millisecond.
constexpr uint64_t kPieceElements = uint64_t{128} << 10U;

}  // namespace

// Checks whether the call could begin now. Nothing is changed.
Result<> Session::rehearse(const Operation& operation) {
    const std::scoped_lock lock(mutex_);
    PACE_TRY_ASSIGN(request, requests_.begin());
    request->order = operation.order;
    request->keeps_local = operation.keep_local;
    request->verb = operation.verb;
    auto possible = claim_buffers(operation, *request);
    if (possible) possible = order(operation, *request);
    release_buffers(*request);
    requests_.abandon(*request);
    return possible;
}

Result<> Session::provide_copies(std::span<const Slice> slices) {
    for (const Slice& slice : slices) PACE_TRY(provide_copy(slice.buffer));
    return {};
}

// Makes the buffer's copy unless there is one.
Result<> Session::provide_copy(BufferHandle handle) {
    protocol::DType type{};
    uint64_t count = 0;
    {
        const std::scoped_lock lock(mutex_);
        PACE_TRY_ASSIGN(buffer, buffers_.find(handle));
        if (buffer->has_copy()) return {};
        type = buffer->type;
        count = buffer->count;
    }
    // The allocation may throw, so it comes first. A copy that the daemon makes then always has an
    // owner.
    std::unique_ptr<std::byte[]> snapshot(new std::byte[count * size_of(type)]);
    PACE_TRY_ASSIGN(made, create_buffer(type, count, 0, {.is_copy = true}));
    {
        const std::scoped_lock lock(mutex_);
        // Meanwhile another thread may have made a copy or freed the buffer.
        const auto buffer = buffers_.find(handle);
        if (buffer && !(*buffer)->has_copy()) {
            (*buffer)->copy = made.handle;
            (*buffer)->snapshot = std::move(snapshot);
            return {};
        }
    }
    return free_one(made.handle);
}

std::vector<KeptBuffer> Session::kept_buffers(const Request& request) {
    std::vector<KeptBuffer> kept;
    kept.reserve(request.given);
    for (const Part& part : request.inputs()) {
        Buffer& buffer = buffers_.at(part.buffer);
        const size_t begin = part.first * size_of(buffer.type);
        kept.push_back({buffer.type, part.count, buffer.host_data() + begin,
                        buffers_.at(buffer.copy.index).memory->data() + begin,
                        buffer.snapshot.get() + begin});
    }
    return kept;
}

std::vector<StagedPart> Session::staged_parts(std::span<const Part> parts) {
    std::vector<StagedPart> staged;
    staged.reserve(parts.size());
    for (const Part& part : parts) {
        Buffer& buffer = buffers_.at(part.buffer);
        const size_t bytes = size_of(buffer.type);
        StagedPart one{part.count, bytes, nullptr, nullptr};
        if (buffer.is_staged()) {
            one.outside = buffer.outside + part.first * bytes;
            one.shared = buffer.memory->data() + part.first * bytes;
        }
        staged.push_back(one);
    }
    return staged;
}

// Works on the request's memory without the lock, which other threads need meanwhile. No thread
// collects the request before the work is done. The request's claim therefore keeps the buffers.
template <typename Work>
Request& Session::work_outside(Request& request, std::unique_lock<std::mutex>& lock, Work work) {
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

// Copies the buffers of a new request. Returns false if the request has ended.
bool Session::copy_buffers(uint64_t id, std::unique_lock<std::mutex>& lock) {
    Request& request = *requests_.in_flight(id);
    if (request.keeps_local) {
        const std::vector<KeptBuffer> kept = kept_buffers(request);
        return !work_outside(request, lock, [&] {
                    std::for_each(kept.begin(), kept.end(), take_copy);
                }).ended;
    }
    const std::vector<StagedPart> staged = staged_parts(request.inputs());
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
    const std::vector<StagedPart> staged = staged_parts(now.inputs());
    return !work_outside(now, lock, [&] { copy_in(staged, first, count); }).ended;
}

// Finishes the trainer's own memory for an ended request. Works on at least one piece, and on as
// many as there is time for. With `finishes`, works on all pieces. Returns false if there is more
// to do.
bool Session::finish_outside(Request& request, TimePoint deadline, bool finishes,
                             std::unique_lock<std::mutex>& lock) {
    const bool is_done = request.end.entry.outcome == protocol::Outcome::done;
    const bool is_whole = request.stages && request.contents == protocol::WriteState::whole;
    Request* ended = &request;
    bool all = true;
    if ((is_done || is_whole) && protocol::writes_buffers(request.verb)) {
        const auto kept = request.keeps_local ? kept_buffers(request) : std::vector<KeptBuffer>();
        const auto staged =
            request.stages ? staged_parts(request.results()) : std::vector<StagedPart>();
        uint64_t finished = request.added;
        ended = &work_outside(request, lock, [&] {
            do {
                const uint64_t piece = kept.empty() ? copy_out(staged, finished, kPieceElements)
                                                    : add_change(kept, finished, kPieceElements);
                finished += piece;
                all = piece < kPieceElements;
            } while (!all && (finishes || base::now() < deadline));
        });
        ended->added = finished;
    }
    if (all) release_buffers(*ended);
    collected_.notify_all();
    return all;
}

}  // namespace pace::client
