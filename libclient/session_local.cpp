// Averages of copies, while the trainer keeps the buffers (local_progress.h).
#include <algorithm>

#include "libclient/session.h"

namespace pace::client {

using base::Result;

Result<> Session::provide_copies(std::span<const BufferHandle> buffers) {
    for (const BufferHandle handle : buffers) PACE_TRY(provide_copy(handle));
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
    PACE_TRY_ASSIGN(made, create_buffer(type, count));
    std::unique_ptr<std::byte[]> snapshot(new std::byte[count * size_of(type)]);
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
    kept.reserve(request.buffer_count);
    for (uint32_t i = 0; i < request.buffer_count; ++i) {
        Buffer& buffer = buffers_.at(request.buffers[i]);
        kept.push_back({buffer.type, buffer.count, buffer.memory.data(),
                        buffers_.at(buffer.copy.index).memory.data(), buffer.snapshot.get()});
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

void Session::add_average(Request& request, std::unique_lock<std::mutex>& lock) {
    const RequestHandle handle = requests_.handle(request);
    if (request.end.entry.outcome == protocol::Outcome::done) {
        const std::vector<KeptBuffer> kept = kept_buffers(request);
        request.adding = true;
        lock.unlock();
        std::for_each(kept.begin(), kept.end(), add_change);
        lock.lock();
    }
    Request& ended = **requests_.find(handle);
    ended.adding = false;
    release_buffers(ended);
    collected_.notify_all();
}

}  // namespace pace::client
