#include "daemon/exchange/link_ping.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace pace::daemon {

using base::Result;
using base::Task;
using collectives::Operation;

namespace {

constexpr size_t kTinyPings = 8;
constexpr size_t kLargePings = 3;
constexpr size_t kPings = kTinyPings + kLargePings;
constexpr size_t kTinyBytes = 8;
constexpr size_t kLargeBytes = size_t{256} << 10U;

// 200 GB/s: twice what the fastest wire carries, and more than one processor copies.
constexpr double kNsPerByteLeast = 0.005;

constexpr size_t bytes_of(size_t ping) {
    return ping < kTinyPings ? kTinyBytes : kLargeBytes;
}
constexpr uint32_t ping_slot(size_t ping) {
    return static_cast<uint32_t>(2 * ping);
}
constexpr uint32_t answer_slot(size_t ping) {
    return static_cast<uint32_t>(2 * ping + 1);
}

}  // namespace

Task<Result<LinkTrips>> ping_link(collectives::Communicator& communicator,
                                  std::function<base::TimePoint()> now) {
    const std::function<base::TimePoint()> clock = std::move(now);
    const size_t other = 1 - communicator.self();
    const std::vector<std::byte> sent(kLargeBytes);
    std::array<base::Duration, kPings> trips{};
    for (size_t i = 0; i < kPings && !communicator.aborted(); ++i) {
        std::array<std::byte, kTinyBytes> answer{};
        Operation sending;
        Operation receiving;
        const base::TimePoint begin = clock();
        communicator.post_receive(receiving, other, answer_slot(i), answer);
        communicator.post_send(sending, other, ping_slot(i), std::span(sent).first(bytes_of(i)));
        communicator.note(co_await receiving.ended());
        trips[i] = clock() - begin;
        communicator.note(co_await sending.ended());
    }
    if (communicator.aborted()) co_return communicator.status().error();
    co_return LinkTrips{*std::min_element(trips.begin() + 1, trips.begin() + kTinyPings),
                        *std::min_element(trips.begin() + kTinyPings, trips.end())};
}

std::optional<LinkTimes> LinkTrips::times() const {
    const base::Duration bytes = large - tiny;
    if (tiny.count() <= 0 || bytes.count() <= 0) return std::nullopt;
    const double ns_per_byte =
        static_cast<double>(bytes.count()) / static_cast<double>(kLargeBytes);
    if (ns_per_byte < kNsPerByteLeast) return std::nullopt;
    return LinkTimes{static_cast<uint64_t>(std::max<int64_t>(tiny.count() / 2, 1)), ns_per_byte};
}

// Each ping is asked for before the previous one is answered, so no ping waits for its memory.
Task<Result<>> answer_pings(collectives::Communicator& communicator) {
    const size_t other = 1 - communicator.self();
    std::vector<std::byte> received(kTinyBytes);
    const std::array<std::byte, kTinyBytes> answer{};
    std::array<Operation, kPings> receiving;
    communicator.post_receive(receiving[0], other, ping_slot(0), received);
    for (size_t i = 0; i < kPings; ++i) {
        communicator.note(co_await receiving[i].ended());
        if (i + 1 < kPings && !communicator.aborted()) {
            received.resize(bytes_of(i + 1));
            communicator.post_receive(receiving[i + 1], other, ping_slot(i + 1), received);
        }
        Operation sending;
        communicator.post_send(sending, other, answer_slot(i), answer);
        communicator.note(co_await sending.ended());
    }
    co_return communicator.status();
}

}  // namespace pace::daemon
