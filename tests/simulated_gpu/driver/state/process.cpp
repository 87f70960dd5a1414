#include "tests/simulated_gpu/driver/state/process.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tests/simulated_gpu/driver/state/stream.h"

namespace pace::simulated_gpu {

namespace {

std::atomic<ProcessState> current_state{ProcessState::fresh};

void become_forked() {
    current_state = ProcessState::forked;
}

// The threads of a forked child's streams belong to its parent. So the child has nothing to end.
void end_process() {
    auto expected = ProcessState::initialized;
    if (current_state.compare_exchange_strong(expected, ProcessState::ended)) end_streams(nullptr);
}

}  // namespace

ProcessState process_state() {
    return current_state;
}

void initialize_process() {
    static std::once_flag once;
    std::call_once(once, [] {
        (void)pthread_atfork(nullptr, nullptr, become_forked);
        (void)std::atexit(end_process);
        current_state = ProcessState::initialized;
    });
}

}  // namespace pace::simulated_gpu
