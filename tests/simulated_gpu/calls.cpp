#include "tests/simulated_gpu/calls.h"

#include <atomic>
#include <cstdint>

#include "tests/simulated_gpu/process.h"
#include "tests/simulated_gpu/settings.h"
#include "tests/simulated_gpu/stream.h"

namespace pace::simulated_gpu {

namespace {

std::array<std::atomic<uint64_t>, kSymbols.size()> calls_so_far;

bool is_to_fail(Call call) {
    const auto index = static_cast<size_t>(call);
    const uint64_t failing = settings().failing_calls[index];
    return failing != 0 && ++calls_so_far[index] >= failing;
}

// These calls read constants, and work in any state.
bool works_always(Call call) {
    return call == Call::get_error_name || call == Call::get_error_string ||
           call == Call::driver_get_version;
}

}  // namespace

CUresult admit(Call call) {
    if (is_to_fail(call)) return kUnknown;
    if (works_always(call)) return kSuccess;
    // The real driver may refuse the call or hang here. A refusal shows the mistake.
    if (Stream::is_this_thread()) return kNotPermitted;
    switch (process_state()) {
        case ProcessState::fresh:
            return call == Call::init ? kSuccess : kNotInitialized;
        case ProcessState::initialized:
            return kSuccess;
        case ProcessState::forked:
            return kNotInitialized;
        case ProcessState::ended:
            return kDeinitialized;
    }
    return kUnknown;
}

}  // namespace pace::simulated_gpu
