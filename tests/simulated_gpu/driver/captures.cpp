#include "tests/simulated_gpu/driver/captures.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/simulated_gpu/driver/state/stream.h"
#include "tests/simulated_gpu/driver/streams.h"

namespace pace::simulated_gpu {

namespace {

constexpr int kCaptureActive = 1;       // CU_STREAM_CAPTURE_STATUS_ACTIVE
constexpr int kCaptureBroken = 2;       // CU_STREAM_CAPTURE_STATUS_INVALIDATED
constexpr int kCaptureThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

struct Capture {
    std::shared_ptr<Stream> stream;
    std::thread::id thread;
    int mode = kCaptureGlobal;
    bool is_broken = false;
};

struct Captures {
    std::mutex mutex;
    std::vector<Capture> list;

    auto find(const std::shared_ptr<Stream>& stream) {
        return std::find_if(list.begin(), list.end(),
                            [&stream](const Capture& one) { return one.stream == stream; });
    }
};

Captures& captures() {
    static auto& all = *new Captures;
    return all;
}

int& mode_of_this_thread() {
    thread_local int mode = kCaptureGlobal;
    return mode;
}

// Calls that may need what is captured to have run.
bool is_unsafe(Call call) {
    switch (call) {
        case Call::context_synchronize:
        case Call::event_query:
        case Call::event_synchronize:
        case Call::stream_synchronize:
        case Call::mem_alloc:
        case Call::mem_free:
        case Call::mem_host_register:
        case Call::mem_host_unregister:
            return true;
        default:
            return false;
    }
}

}  // namespace

bool breaks_captures(Call call) {
    if (!is_unsafe(call) || mode_of_this_thread() == kCaptureRelaxed) return false;
    const std::scoped_lock lock(captures().mutex);
    bool breaks = false;
    for (Capture& one : captures().list) {
        const bool is_own = one.thread == std::this_thread::get_id();
        const bool reaches = one.mode == kCaptureGlobal && mode_of_this_thread() == kCaptureGlobal;
        if (one.mode == kCaptureRelaxed || !(is_own || reaches)) continue;
        one.is_broken = true;
        breaks = true;
    }
    return breaks;
}

CUresult stream_begin_capture(CUstream handle, int mode) {
    const FoundStream found = find_stream(handle);
    if (!found) return found.result;
    if (mode != kCaptureGlobal && mode != kCaptureThreadLocal && mode != kCaptureRelaxed)
        return kInvalidValue;
    if (found.is_special) return kCaptureUnsupported;
    const std::scoped_lock lock(captures().mutex);
    if (found.stream->is_captured()) return kInvalidValue;
    captures().list.push_back({found.stream, std::this_thread::get_id(), mode});
    found.stream->set_captured(true);
    return kSuccess;
}

CUresult stream_end_capture(CUstream handle, CUgraph* ret_graph) {
    const FoundStream found = find_stream(handle);
    if (!found) return found.result;
    if (ret_graph == nullptr) return kInvalidValue;
    const std::scoped_lock lock(captures().mutex);
    const auto capture = captures().find(found.stream);
    if (capture == captures().list.end()) return kInvalidValue;
    const bool was_broken = capture->is_broken;
    captures().list.erase(capture);
    found.stream->set_captured(false);
    *ret_graph = nullptr;
    return was_broken ? kCaptureInvalidated : kSuccess;
}

CUresult stream_is_capturing(CUstream handle, int* ret_status) {
    const FoundStream found = find_stream(handle);
    if (!found) return found.result;
    if (ret_status == nullptr) return kInvalidValue;
    const std::scoped_lock lock(captures().mutex);
    // The real driver says this of blocking streams alone.
    if (found.is_special && !captures().list.empty()) return kCaptureImplicit;
    const auto capture = captures().find(found.stream);
    *ret_status = kCaptureNone;
    if (capture != captures().list.end())
        *ret_status = capture->is_broken ? kCaptureBroken : kCaptureActive;
    return kSuccess;
}

CUresult exchange_capture_mode(int* mode) {
    if (mode == nullptr || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) return kInvalidValue;
    std::swap(*mode, mode_of_this_thread());
    return kSuccess;
}

}  // namespace pace::simulated_gpu
