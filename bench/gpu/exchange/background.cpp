#include "bench/gpu/exchange/background.h"

#include <array>

namespace pace::gpu_bench {

using namespace base::cuda;  // the driver's own names

namespace {

constexpr size_t kBytes = size_t{64} << 20U;
// Queued ahead, so that the GPU never waits for this thread.
constexpr size_t kAhead = 8;

}  // namespace

Background::Background(int ordinal) : thread_([this, ordinal] { fill(ordinal); }) {}

Background::~Background() {
    ends_ = true;
    thread_.join();
}

void Background::fill(int ordinal) const {
    const Gpu gpu(ordinal);
    CUdeviceptr memory = 0;
    must(driver().mem_alloc(&memory, kBytes), "allocate");
    const CUstream stream = Gpu::stream();
    std::array<CUevent, kAhead> filled{};
    for (CUevent& event : filled)
        must(driver().event_create(&event, kEventDisableTiming), "make an event");
    for (size_t i = 0; !ends_; ++i) {
        if (i >= kAhead) must(driver().event_synchronize(filled[i % kAhead]), "wait");
        must(driver().set_bytes(memory, static_cast<unsigned char>(i), kBytes, stream), "fill");
        must(driver().event_record(filled[i % kAhead], stream), "mark a place in a stream");
    }
    must(driver().stream_synchronize(stream), "wait");
}

}  // namespace pace::gpu_bench
