#include "bench/peers/mpich_yield.h"

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>

namespace pace::bench {

namespace {

bool yield_when_idle = false;
unsigned idle_turns = 0;

// The number is small enough that a process without work yields at once. It is large enough that
// shared-memory copies, which this function does not see, are not broken up. The value is a guess.
// 1 to 64 measured alike.
constexpr unsigned kIdleTurnsMax = 16;

using ProgressFunction = unsigned (*)(void*);

ProgressFunction ucx_progress() {
    void* symbol = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (symbol == nullptr) std::abort();
    return reinterpret_cast<ProgressFunction>(symbol);
}

}  // namespace

void mpich_yield_when_idle(bool yield) {
    yield_when_idle = yield;
}

}  // namespace pace::bench

// libmpich finds this function before UCX's own, because the program comes first.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using namespace pace::bench;
    static const ProgressFunction kProgress = ucx_progress();
    const unsigned moved = kProgress(worker);
    if (moved != 0 || !yield_when_idle) {
        idle_turns = 0;
    } else if (++idle_turns >= kIdleTurnsMax) {
        idle_turns = 0;
        sched_yield();
    }
    return moved;
}
