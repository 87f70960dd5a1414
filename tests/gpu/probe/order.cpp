// Whether streams of two processes can be ordered, where the processes may be in containers, and
// how long a round trip takes: one stream tells the other process, whose stream tells back.
#include <functional>
#include <thread>

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

constexpr uint64_t kRounds = 200;
// A busy machine makes fewer round trips.
constexpr std::chrono::seconds kTripMax{1};
constexpr std::chrono::seconds kRoundMax{5};

// Calls `round` with 1, 2, ...
Told time_rounds(const std::function<Result<>(uint64_t)>& round) {
    const Clock::time_point began = Clock::now();
    uint64_t made = 0;
    while (made < kRounds && Clock::now() - began < kTripMax) PACE_TRY(round(++made));
    const std::chrono::duration<double, std::micro> took = Clock::now() - began;
    return fmt::format("yes, {:.1f} us for a round trip", took.count() / static_cast<double>(made));
}

Result<> spin(const std::atomic<uint64_t>& word, uint64_t value) {
    const Clock::time_point began = Clock::now();
    while (!has_come(word, value)) {
        if (Clock::now() - began > kRoundMax)
            return make_error(ErrorKind::timeout, "a word has not come within {} s",
                              kRoundMax.count());
        std::this_thread::yield();  // to the other process, where there is one processor
    }
    return {};
}

Result<> answer_words(Line& line) {
    UniqueFd descriptor;
    PACE_TRY(line.receive<char>(&descriptor));
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(words, StreamWords::adopt(gpu.driver(), std::move(descriptor), 1));
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY(line.send_text(""));
    for (uint64_t i = 1; i <= kRounds; ++i) {
        PACE_TRY(spin(words.at(0).ready, i));
        PACE_TRY(gpu.check(words.write(stream, words.at(0).ended, i), "write a word"));
    }
    PACE_TRY(gpu.check(gpu.driver().stream_synchronize(stream), "wait for a stream"));
    (void)line.receive<char>();  // until the other process has ended
    return {};
}

Result<> expect_ready(Line& line) {
    PACE_TRY_ASSIGN(text, line.receive_text());
    if (text.empty()) return {};
    return make_error(ErrorKind::unavailable, "{}", text);
}

// The partner's half of an event that this process has shared.
Result<CUevent> share_event(const Gpu& gpu, Line& line) {
    PACE_TRY_ASSIGN(event, gpu.event(kEventInterprocess));
    CUipcEventHandle handle{};
    PACE_TRY(gpu.check(gpu.driver().ipc_get_event_handle(&handle, event), "share an event"));
    PACE_TRY(line.send(handle));
    return event;
}

Result<CUevent> open_event(const Gpu& gpu, Line& line) {
    PACE_TRY_ASSIGN(handle, line.receive<CUipcEventHandle>());
    CUevent event = nullptr;
    PACE_TRY(gpu.check(gpu.driver().ipc_open_event_handle(&event, handle), "open an event"));
    return event;
}

Result<> answer_events(Line& line) {
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY_ASSIGN(ours, share_event(gpu, line));
    PACE_TRY_ASSIGN(theirs, open_event(gpu, line));
    PACE_TRY(line.send_text(""));
    for (uint64_t i = 1; i <= kRounds; ++i) {
        PACE_TRY(line.receive<char>());
        if (!gpu.await(theirs, kRoundMax))
            return make_error(ErrorKind::timeout, "an event has not come");
        PACE_TRY(gpu.check(gpu.driver().event_record(ours, stream), "record an event"));
        PACE_TRY(line.send('.'));
    }
    (void)line.receive<char>();
    return {};
}

}  // namespace

Told words_reach(Where where) {
    Partner partner(where, answer_words);
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(words, StreamWords::create(gpu.driver(), 1));
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY(partner.line().send('.', words.fd()));
    PACE_TRY(expect_ready(partner.line()));
    SlotWords& slot = words.at(0);
    return time_rounds([&](uint64_t i) -> Result<> {
        PACE_TRY(gpu.check(words.write(stream, slot.ready, i), "write a word"));
        PACE_TRY(gpu.check(words.wait(stream, slot.ended, i), "wait for a word"));
        PACE_TRY(gpu.check(words.write(stream, slot.passed, i), "write a word"));
        return spin(slot.passed, i);
    });
}

Told events_reach(Where where) {
    Partner partner(where, answer_events);
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY_ASSIGN(theirs, open_event(gpu, partner.line()));
    PACE_TRY_ASSIGN(ours, share_event(gpu, partner.line()));
    PACE_TRY(expect_ready(partner.line()));
    return time_rounds([&](uint64_t) -> Result<> {
        PACE_TRY(gpu.check(gpu.driver().event_record(ours, stream), "record an event"));
        PACE_TRY(partner.line().send('.'));
        PACE_TRY(partner.line().receive<char>());
        PACE_TRY(gpu.check(gpu.driver().stream_wait_event(stream, theirs, 0), "wait for an event"));
        PACE_TRY_ASSIGN(mark, gpu.mark(stream));
        if (!gpu.await(mark, kRoundMax))
            return make_error(ErrorKind::timeout, "a stream does not come behind an event");
        (void)gpu.driver().event_destroy(mark);
        return {};
    });
}

}  // namespace pace::gpu_probe
