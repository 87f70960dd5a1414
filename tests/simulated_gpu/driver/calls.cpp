#include "tests/simulated_gpu/driver/calls.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "tests/simulated_gpu/driver/captures.h"
#include "tests/simulated_gpu/driver/state/process.h"
#include "tests/simulated_gpu/driver/state/settings.h"
#include "tests/simulated_gpu/driver/state/stream.h"

namespace pace::simulated_gpu {

namespace {

std::array<std::atomic<uint64_t>, kSymbols.size()> calls_so_far;

// The contexts of this process have failed: no call but those that read constants works any more.
std::atomic<bool> has_failed = false;

// Returns the fault that a test has asked for.
CUresult fault_of(Call call) {
    const auto index = static_cast<size_t>(call);
    const uint64_t so_far = ++calls_so_far[index];
    const uint64_t failing = settings().failing_calls[index];
    if (failing != 0 && so_far >= failing) return kUnknown;
    if (so_far <= settings().failing_until[index]) return kUnknown;
    const uint64_t sticky = settings().sticky_calls[index];
    if (sticky != 0 && so_far >= sticky) has_failed = true;
    return has_failed ? kIllegalAddress : kSuccess;
}

// These calls read constants, and work in any state.
bool works_always(Call call) {
    return call == Call::get_error_name || call == Call::get_error_string ||
           call == Call::driver_get_version;
}

}  // namespace

void fail_for_good() {
    has_failed = true;
}

CUresult admit(Call call) {
    if (const uint64_t slow_us = settings().slow_us[static_cast<size_t>(call)]; slow_us != 0)
        std::this_thread::sleep_for(std::chrono::microseconds(slow_us));
    const CUresult fault = fault_of(call);
    if (fault == kUnknown) return fault;
    if (works_always(call)) return kSuccess;
    if (fault != kSuccess) return fault;
    // The real driver may refuse the call or hang here. A refusal shows the mistake.
    if (Stream::is_this_thread()) return kNotPermitted;
    switch (process_state()) {
        case ProcessState::fresh:
            return call == Call::init ? kSuccess : kNotInitialized;
        case ProcessState::initialized:
            return breaks_captures(call) ? kCaptureUnsupported : kSuccess;
        case ProcessState::forked:
            return kNotInitialized;
        case ProcessState::ended:
            return kDeinitialized;
    }
    return kUnknown;
}

}  // namespace pace::simulated_gpu
