#include "daemon/sparse/exchange/link_probe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/sparse/exchange/messages.h"

namespace pace::sparse {

using base::Result;
using base::Task;
using base::TimePoint;
using collectives::Communicator;
using collectives::Operation;

static_assert(std::endian::native == std::endian::little, "links travel as they lie in memory");

namespace {

constexpr size_t kPings = 8;  // the first is not counted
constexpr size_t kLargeBytes = size_t{256} << 10;
constexpr size_t kTinyBytes = 8;

constexpr size_t bytes_of_ping(size_t ping) {
    return ping < kPings ? kTinyBytes : kLargeBytes;
}

// The exchange is the probe's own, so the phases have the probe's own meaning here.
uint32_t ping_slot(size_t ping) {
    return slot_of(SparsePhase::lengths, ping);
}
uint32_t answer_slot(size_t ping) {
    return slot_of(SparsePhase::bodies, ping);
}

double clamped(double value, double least, double most) {
    // A value that is not a number becomes `least`.
    return value > least ? std::min(value, most) : least;
}

Link clamped(Link link) {
    return {clamped(link.alpha_s, kLinkBest.alpha_s, kLinkWorst.alpha_s),
            clamped(link.beta_s_per_byte, kLinkBest.beta_s_per_byte, kLinkWorst.beta_s_per_byte)};
}

class LinkProbe {
  public:
    LinkProbe(Communicator& communicator, std::function<TimePoint()> now)
        : communicator_(communicator),
          now_(std::move(now)),
          ring_(ring_of_all(communicator.size(), communicator.self())) {}

    Task<Result<Link>> run() {
        std::vector<Task<Result<>>> both;
        both.push_back(ping());
        both.push_back(answer());
        co_await base::when_all(std::move(both));
        if (communicator_.aborted()) co_return communicator_.status().error();
        co_return co_await worst_of_all();
    }

  private:
    // Sends the pings to the next node and notes how long each took.
    Task<Result<>> ping() {
        const std::vector<std::byte> sent(kLargeBytes);
        const size_t to = ring_.node(ring_.after(1));
        for (size_t i = 0; i <= kPings && !communicator_.aborted(); ++i) {
            std::array<std::byte, kTinyBytes> answered{};
            Operation sending;
            Operation receiving;
            const TimePoint begin = now_();
            communicator_.post_receive(receiving, to, answer_slot(i), answered);
            communicator_.post_send(sending, to, ping_slot(i),
                                    std::span(sent).first(bytes_of_ping(i)));
            communicator_.note(co_await receiving.ended());
            seconds_[i] = base::to_seconds(now_() - begin);
            communicator_.note(co_await sending.ended());
        }
        co_return communicator_.status();
    }

    // Answers the pings of the node before this one. The receives are posted before the pings come.
    Task<Result<>> answer() {
        const size_t from = ring_.node(ring_.before(1));
        std::vector<std::byte> received(kPings * kTinyBytes + kLargeBytes);
        const std::array<std::byte, kTinyBytes> answer{};
        std::array<Operation, kPings + 1> receiving;
        for (size_t i = 0; i <= kPings; ++i)
            communicator_.post_receive(
                receiving[i], from, ping_slot(i),
                std::span(received).subspan(i * kTinyBytes, bytes_of_ping(i)));
        for (size_t i = 0; i <= kPings; ++i) {
            Operation sending;
            communicator_.note(co_await receiving[i].ended());
            communicator_.post_send(sending, from, answer_slot(i), answer);
            communicator_.note(co_await sending.ended());
        }
        co_return communicator_.status();
    }

    Link own() const {
        std::array<double, kPings - 1> trips{};
        std::copy(seconds_.begin() + 1, seconds_.begin() + kPings, trips.begin());
        std::nth_element(trips.begin(), trips.begin() + trips.size() / 2, trips.end());
        const double trip = trips[trips.size() / 2];
        return clamped({trip / 2, (seconds_[kPings] - trip) / static_cast<double>(kLargeBytes)});
    }

    Task<Result<Link>> worst_of_all() {
        const std::vector<size_t> sizes(ring_.size, sizeof(Link));
        std::vector<std::byte> gathered(ring_.size * sizeof(Link));
        const Link mine = own();
        std::memcpy(gathered.data(), &mine, sizeof(mine));
        Result<> moved = co_await bruck_all_gather(
            communicator_, ring_, slot_of(SparsePhase::gather, 0), sizes, gathered);
        if (!moved) co_return std::move(moved).error();
        Link worst = kLinkBest;
        for (size_t i = 0; i < ring_.size; ++i) {
            Link theirs;
            std::memcpy(&theirs, gathered.data() + i * sizeof(Link), sizeof(theirs));
            theirs = clamped(theirs);
            worst.alpha_s = std::max(worst.alpha_s, theirs.alpha_s);
            worst.beta_s_per_byte = std::max(worst.beta_s_per_byte, theirs.beta_s_per_byte);
        }
        co_return worst;
    }

    Communicator& communicator_;
    std::function<TimePoint()> now_;
    Ring ring_;
    std::array<double, kPings + 1> seconds_{};  // round-trip times, by ping
};

}  // namespace

Task<Result<Link>> measure_links(Communicator& communicator, std::function<TimePoint()> now) {
    if (communicator.aborted()) co_return communicator.status().error();
    if (communicator.size() == 1) co_return Link();
    LinkProbe probe(communicator, std::move(now));
    co_return co_await probe.run();
}

}  // namespace pace::sparse
