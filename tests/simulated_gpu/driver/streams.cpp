// The driver's functions for streams, and those that queue work on a stream: copies and host
// functions.
#include "tests/simulated_gpu/driver/streams.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/host_memory.h"
#include "tests/simulated_gpu/driver/state/handles.h"
#include "tests/simulated_gpu/driver/state/stream.h"

namespace pace::simulated_gpu {

namespace {

constexpr uintptr_t kSpecialMax = 2;  // CU_STREAM_PER_THREAD

using StreamHandles = Handles<CUstream, Stream>;

StreamHandles& streams() {
    static auto& all = *new StreamHandles(uint64_t{2} << 40U);
    return all;
}

bool is_special(CUstream handle) {
    return reinterpret_cast<uintptr_t>(handle) <= kSpecialMax;
}

// Device memory is host memory here.
void* pointer_of(CUdeviceptr address) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

// The caller's memory is read when the copy's turn comes. This also holds where the real driver
// would have staged the memory at the call.
CUresult copy(CUstream handle, void* to, const void* from, size_t bytes) {
    const FoundStream found = find_stream(handle);
    if (!found) return found.result;
    if (bytes == 0) return kSuccess;
    if (to == nullptr || from == nullptr) return kInvalidValue;
    found.stream->push([to, from, bytes] { std::memcpy(to, from, bytes); });
    return kSuccess;
}

}  // namespace

FoundStream find_stream(CUstream handle) {
    const Current current = current_context();
    if (!current) return {current.result, nullptr};
    if (is_special(handle)) {
        auto stream = current.context->null_stream();
        return {stream == nullptr ? kOutOfMemory : kSuccess, std::move(stream), true};
    }
    auto stream = streams().find(handle);
    return {stream == nullptr ? kInvalidHandle : kSuccess, std::move(stream)};
}

void forget_streams(const Context* context) {
    streams().forget_if([&](const Stream& stream) { return &stream.context() == context; });
}

CUresult stream_create(CUstream* ret_stream, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (ret_stream == nullptr || (flags & ~kStreamNonBlocking) != 0) return kInvalidValue;
    auto stream = Stream::start(*current.context);
    if (stream == nullptr) return kOutOfMemory;
    *ret_stream = streams().add(std::move(stream));
    return kSuccess;
}

CUresult stream_destroy(CUstream handle) {
    const Current current = current_context();
    if (!current) return current.result;
    const auto stream = streams().take(handle);
    if (stream == nullptr) return kInvalidHandle;
    stream->finish();
    return kSuccess;
}

CUresult stream_get_context(CUstream handle, CUcontext* ret_context) {
    const FoundStream found = find_stream(handle);
    if (!found) return found.result;
    if (ret_context == nullptr) return kInvalidValue;
    *ret_context = found.stream->context().handle();
    return kSuccess;
}

CUresult stream_synchronize(CUstream handle) {
    const FoundStream found = find_stream(handle);
    if (found) found.stream->synchronize();
    return found.result;
}

CUresult launch_host_function(CUstream handle, CUhostFn function, void* data) {
    const FoundStream found = find_stream(handle);
    if (!found) return found.result;
    if (function == nullptr) return kInvalidValue;
    found.stream->push([function, data] { function(data); });
    return kSuccess;
}

CUresult copy_to_device(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy(stream, pointer_of(to), from, bytes);
}

// To memory that is not registered, the driver copies before it returns, as documented.
CUresult copy_to_host(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    const CUresult queued = copy(stream, to, pointer_of(from), bytes);
    return queued != kSuccess || is_registered(to, bytes) ? queued : stream_synchronize(stream);
}

CUresult copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(stream, pointer_of(to), pointer_of(from), bytes);
}

CUresult set_bytes(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    const FoundStream found = find_stream(stream);
    if (!found) return found.result;
    if (bytes == 0) return kSuccess;
    if (to == 0) return kInvalidValue;
    found.stream->push([to, value, bytes] { std::memset(pointer_of(to), value, bytes); });
    return kSuccess;
}

}  // namespace pace::simulated_gpu
