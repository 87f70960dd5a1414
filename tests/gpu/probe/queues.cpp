// What streams of one process do to each other.
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/cuda/stream_words.h"
#include "tests/gpu/probe/facts.h"
#include "tests/gpu/probe/gpu.h"

namespace pace::gpu_probe {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::UniqueFd;
using namespace base::cuda;  // the driver's own names

namespace {

constexpr size_t kStreams = 40;
constexpr std::chrono::seconds kBeside{4};

}  // namespace

Told streams_beside_a_blocked_one() {
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(words, StreamWords::create(gpu.driver(), 1));
    CUdeviceptr memory = 0;
    PACE_TRY(gpu.check(gpu.driver().mem_alloc(&memory, kStreams), "make memory"));
    std::vector<CUevent> marks;
    for (size_t i = 0; i < kStreams; ++i) {
        PACE_TRY_ASSIGN(stream, gpu.stream());
        if (i == 0)
            PACE_TRY(gpu.check(words.wait(stream, words.at(0).ended, 1), "wait for a word"));
        PACE_TRY(gpu.check(gpu.driver().set_bytes(memory + i, 1, 1, stream), "set memory"));
        PACE_TRY_ASSIGN(mark, gpu.mark(stream));
        marks.push_back(mark);
    }
    const Clock::time_point end = Clock::now() + kBeside;
    size_t gone_on = 0;
    for (const CUevent mark : marks) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        if (gpu.await(mark, std::max(left, std::chrono::milliseconds(0)))) ++gone_on;
    }
    words.at(0).ended = StreamWords::kReleased;
    const bool all_end = gpu.await(marks.back(), kBeside) && gpu.await(marks.front(), kBeside);
    return fmt::format("{} of {} others go on{}", gone_on, kStreams - 1,
                       all_end ? "" : "; not all end when the word is stored");
}

Told capture_beside_a_query(bool is_relaxed) {
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(captured, gpu.stream());
    PACE_TRY_ASSIGN(other, gpu.stream());
    PACE_TRY_ASSIGN(mark, gpu.mark(other));
    if (!gpu.await(mark, kBeside))
        return make_error(ErrorKind::timeout, "a stream without work does not reach an event");
    PACE_TRY(
        gpu.check(gpu.driver().stream_begin_capture(captured, kCaptureGlobal), "begin a capture"));
    CUresult query = kSuccess;
    std::thread([&] {
        (void)gpu.driver().context_push(gpu.context());
        int mode = is_relaxed ? kCaptureRelaxed : kCaptureGlobal;
        (void)gpu.driver().exchange_capture_mode(&mode);
        query = gpu.driver().event_query(mark);
    }).join();
    CUgraph graph = nullptr;
    const CUresult ended = gpu.driver().stream_end_capture(captured, &graph);
    return fmt::format(
        "the query returns {}, and the capture {}", query,
        ended == kSuccess ? std::string("goes on") : fmt::format("is broken ({})", ended));
}

Told words_registered_twice() {
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(words, StreamWords::create(gpu.driver(), 1));
    UniqueFd copy(dup(words.fd()));
    PACE_TRY_ASSIGN(again, StreamWords::adopt(gpu.driver(), std::move(copy), 1));
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY(gpu.check(again.write(stream, again.at(0).ended, 1), "write a word"));
    PACE_TRY(gpu.check(words.wait(stream, words.at(0).ended, 1), "wait for a word"));
    PACE_TRY_ASSIGN(mark, gpu.mark(stream));
    const bool reaches = gpu.await(mark, kBeside).has_value();
    return std::string(reaches ? "yes" : "no: what one mapping writes, the other never sees");
}

}  // namespace pace::gpu_probe
