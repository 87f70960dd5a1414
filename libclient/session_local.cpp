// Averages of copies, while the trainer keeps the buffers (local_progress.h).
#include <algorithm>

#include "libclient/session.h"

namespace pace::client {

using base::Result;
using base::TimePoint;

namespace {

// Added between two looks at the clock: well below a millisecond.
constexpr uint64_t kPieceElements = uint64_t{128} << 10U;

}  // namespace

// Whether the call could begin now. Nothing is changed.
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

// Makes the buffer's copy, once.
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
    // First what may throw: the daemon is asked for a copy that somebody then has.
    std::unique_ptr<std::byte[]> snapshot(new std::byte[count * size_of(type)]);
    PACE_TRY_ASSIGN(made, create_buffer(type, count));
    {
        const std::scoped_lock lock(mutex_);
        // Another thread may have made one, or freed the buffer, meanwhile.
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
    kept.reserve(request.part_count);
    for (uint32_t i = 0; i < request.part_count; ++i) {
        const Part& part = request.parts[i];
        Buffer& buffer = buffers_.at(part.buffer);
        const size_t begin = part.first * size_of(buffer.type);
        kept.push_back({buffer.type, part.count, buffer.memory.data() + begin,
                        buffers_.at(buffer.copy.index).memory.data() + begin,
                        buffer.snapshot.get() + begin});
    }
    return kept;
}

// Without the lock, which others need meanwhile: the request's claim keeps the buffers. False if the request has ended.
bool Session::copy_buffers(uint64_t id, std::unique_lock<std::mutex>& lock) {
    const std::vector<KeptBuffer> kept = kept_buffers(*requests_.in_flight(id));
    lock.unlock();
    std::for_each(kept.begin(), kept.end(), take_copy);
    lock.lock();
    return requests_.in_flight(id) != nullptr;
}

// A piece at least, and as many as there is time for. False: there is more.
bool Session::add_average(Request& request, TimePoint deadline,
                          std::unique_lock<std::mutex>& lock) {
    const RequestHandle handle = requests_.handle(request);
    bool all = true;
    if (request.end.entry.outcome == protocol::Outcome::done) {
        const std::vector<KeptBuffer> kept = kept_buffers(request);
        uint64_t added = request.added;
        request.adding = true;
        lock.unlock();
        do {
            const uint64_t piece = add_change(kept, added, kPieceElements);
            added += piece;
            all = piece < kPieceElements;
        } while (!all && base::now() < deadline);
        lock.lock();
        Request& ended = **requests_.find(handle);
        ended.added = added;
        ended.adding = false;
    }
    if (all) release_buffers(**requests_.find(handle));
    collected_.notify_all();
    return all;
}

}  // namespace pace::client
