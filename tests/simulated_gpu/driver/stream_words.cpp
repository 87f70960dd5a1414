// The driver's functions by which streams write words of the host's memory, and wait for them.
#include <cstdint>
#include <thread>

#include "tests/simulated_gpu/driver/calls.h"
#include "tests/simulated_gpu/driver/host_memory.h"
#include "tests/simulated_gpu/driver/state/driver.h"
#include "tests/simulated_gpu/driver/state/settings.h"
#include "tests/simulated_gpu/driver/state/stream.h"
#include "tests/simulated_gpu/driver/streams.h"

namespace pace::simulated_gpu {

namespace {

// The pause between two looks at a word for which a stream waits.
constexpr std::chrono::microseconds kLookAgain{20};

CUresult check(CUstream handle, CUdeviceptr address, FoundStream& ret_found) {
    if (!settings().stream_words) return kNotSupported;
    ret_found = find_stream(handle);
    if (!ret_found) return ret_found.result;
    return with_word(address, [](const auto&) {}) ? kSuccess : kInvalidValue;
}

// Whether the stream may go on.
bool is_there(CUdeviceptr address, uint64_t value) {
    bool is_there = false;
    const bool is_registered = with_word(address, [&](const std::atomic<uint64_t>& word) {
        is_there = static_cast<int64_t>(word.load() - value) >= 0;
    });
    if (!is_registered) fail_for_good();
    return is_there || !is_registered;
}

}  // namespace

CUresult stream_write_value(CUstream handle, CUdeviceptr address, unsigned long long value,
                            unsigned flags) {
    FoundStream found;
    const CUresult checked = check(handle, address, found);
    if (checked != kSuccess) return checked;
    if (flags != 0) return kInvalidValue;
    found.stream->push([address, value] {
        if (!with_word(address, [value](std::atomic<uint64_t>& word) { word = value; }))
            fail_for_good();
    });
    return kSuccess;
}

CUresult stream_wait_value(CUstream handle, CUdeviceptr address, unsigned long long value,
                           unsigned flags) {
    FoundStream found;
    const CUresult checked = check(handle, address, found);
    if (checked != kSuccess) return checked;
    if (flags != kWaitValueAtLeast) return kInvalidValue;
    // The work must not hold the stream, because the stream outlives its work.
    found.stream->push([address, value, &cancelled = found.stream->cancelled()] {
        while (!cancelled && !is_there(address, value)) std::this_thread::sleep_for(kLookAgain);
    });
    return kSuccess;
}

}  // namespace pace::simulated_gpu
