// Tests two of the three parts of the transports' contract, for participants of one node and for
// participants with a node each. The third part is about lost peers: nodes here, tested apart.
#include "daemon/sparse/exchange/flat_transport.h"

#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"
#include "daemon/sparse/exchange/flat_cluster.h"
#include "transports/conformance/delivery.h"
#include "transports/conformance/matching.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;
using transports::Address;
using transports::Completion;
using transports::PeerId;
using transports::Tag;
using transports::Transport;
using transports::conformance::pattern;

constexpr size_t kParticipants = 48;  // more than a test of the suite makes

// One participant for the suite. It keeps the whole cluster alive and advances its own node.
class FlatInstance final : public Transport {
  public:
    FlatInstance(std::shared_ptr<FlatCluster> cluster, size_t participant)
        : cluster_(std::move(cluster)),
          node_(cluster_->place(participant)),
          flat_(cluster_->transport(participant)) {}

    std::string_view name() const override { return flat_.name(); }
    const Address& address() const override { return flat_.address(); }
    base::Result<PeerId> connect(std::span<const std::byte> address) override {
        return flat_.connect(address);
    }
    void disconnect(PeerId peer) override { flat_.disconnect(peer); }
    void give_up(PeerId peer, const base::Error& error) override { flat_.give_up(peer, error); }
    void send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
              Completion completion) override {
        flat_.send(peer, tag, bytes, std::move(completion));
    }
    void receive(PeerId peer, Tag tag, std::span<std::byte> bytes, Completion completion) override {
        flat_.receive(peer, tag, bytes, std::move(completion));
    }
    void close_exchange(uint64_t exchange) override { flat_.close_exchange(exchange); }
    void end() override {
        flat_.end();
        cluster_->real(node_).end();
    }
    void ping(PeerId peer) override { flat_.ping(peer); }
    base::TimePoint heard(PeerId peer) const override { return flat_.heard(peer); }
    void set_peer_lost_handler(transports::PeerLostHandler handler) override {
        flat_.set_peer_lost_handler(std::move(handler));
    }
    int event_fd() const override { return flat_.event_fd(); }
    Counters counters() const override { return flat_.counters(); }
    bool poll() override {
        const bool worked = cluster_->real(node_).poll();
        return cluster_->flat(node_).poll() || worked;
    }
    bool arm() override { return cluster_->flat(node_).arm(); }

  private:
    std::shared_ptr<FlatCluster> cluster_;
    size_t node_;
    FlatTransport& flat_;
};

// Participant p is at node p / kPerNode.
template <size_t kPerNode>
class FlatFabric {
  public:
    std::unique_ptr<Transport> create() {
        std::shared_ptr<FlatCluster> cluster = cluster_.lock();
        if (!cluster) {
            std::vector<size_t> places;
            for (size_t p = 0; p < kParticipants; ++p) places.push_back(p / kPerNode);
            cluster = std::make_shared<FlatCluster>(std::move(places));
            cluster_ = cluster;
            next_ = 0;
        }
        return std::make_unique<FlatInstance>(std::move(cluster), next_++);
    }

  private:
    std::weak_ptr<FlatCluster> cluster_;  // lives until the last instance is gone
    size_t next_ = 0;
};

using FlatFabrics =
    ::testing::Types<FlatFabric<kParticipants>, FlatFabric<1>, FlatFabric<2>, FlatFabric<3>>;

struct End {
    int times = 0;
    std::optional<base::Error> error;
    bool failed_with(ErrorKind kind) const { return times == 1 && error && error->kind == kind; }
    bool ok() const { return times == 1 && !error; }
};

struct LostParticipant {
    size_t at;
    PeerId peer;
    size_t unended;  // operations with the peer that had not ended
};

// Nodes with 1, 2 and 3 participants, and a record of all operations that end.
struct Traffic {
    explicit Traffic(std::optional<uint64_t> seed = std::nullopt)
        : cluster({0, 1, 1, 2, 2, 2}, seed) {
        for (size_t p = 0; p < cluster.participants(); ++p)
            cluster.transport(p).set_peer_lost_handler([this, p](PeerId peer, const base::Error&) {
                lost.push_back({p, peer, unended(p, peer)});
            });
    }
    // The records outlive the transports.
    ~Traffic() {
        cluster.end();
        for (const Record& record : records) EXPECT_EQ(record.end.times, 1);
    }

    End& send(size_t from, size_t to, Tag tag, size_t size) {
        buffers.push_back(pattern(size, 100 * from + to));
        Record& record = records.emplace_back(Record{from, to, {}});
        cluster.transport(from).send(static_cast<PeerId>(to), tag, buffers.back(), ending(record));
        return record.end;
    }
    End& receive(size_t to, size_t from, Tag tag, size_t size) {
        buffers.emplace_back(size);
        Record& record = records.emplace_back(Record{to, from, {}});
        cluster.transport(to).receive(static_cast<PeerId>(from), tag, buffers.back(),
                                      ending(record));
        return record.end;
    }

    // Starts small and large messages between all pairs, and a receive that has no send.
    void start_all(uint64_t exchange) {
        for (size_t i = 0; i < 6; ++i)
            for (size_t j = 0; j < 6; ++j) {
                if (i == j) continue;
                uint32_t slot = 0;
                for (const size_t size : {size_t{0}, size_t{100}, size_t{50000}}) {
                    send(i, j, {exchange, slot, 0}, size);
                    receive(j, i, {exchange, slot++, 0}, size);
                }
                receive(j, i, {exchange, 99, 0}, 10);
            }
    }

    size_t unended(size_t at, size_t with) const {
        size_t count = 0;
        for (const Record& record : records)
            count += record.at == at && record.with == with && record.end.times == 0 ? 1U : 0U;
        return count;
    }
    // Returns true if a small and a large message get from a to b.
    bool crosses(size_t a, size_t b) {
        const Tag small{1000, marker++, 0};
        const Tag large{1000, marker++, 0};
        const End& first = receive(b, a, small, 8);
        const End& second = receive(b, a, large, 9000);
        send(a, b, small, 8);
        send(a, b, large, 9000);
        cluster.run();
        return first.ok() && second.ok();
    }

    struct Record {
        size_t at;
        size_t with;
        End end;
    };
    Completion ending(Record& record) {
        return [&record](base::Result<> result) {
            ++record.end.times;
            if (!result) record.end.error = std::move(result).error();
        };
    }

    std::deque<Record> records;
    std::deque<std::vector<std::byte>> buffers;
    std::vector<LostParticipant> lost;
    uint32_t marker = 0;
    FlatCluster cluster;
};

TEST(FlatTransport, ALostNodeIsTheLossOfAllItsParticipantsAtEveryMoment) {
    for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {7}})
        for (size_t steps = 0; steps < 40; ++steps) {
            SCOPED_TRACE(steps);
            Traffic traffic(seed);
            traffic.start_all(1);
            for (size_t i = 0; i < steps; ++i) traffic.cluster.progress();
            traffic.cluster.kill(1);
            traffic.cluster.run();
            // Participants 0, 3, 4 and 5 each lose 1 and 2, after the operations with 1 and 2 have
            // ended.
            std::set<std::pair<size_t, PeerId>> told;
            for (const LostParticipant& lost : traffic.lost) {
                EXPECT_EQ(lost.unended, 0U);
                EXPECT_TRUE(told.emplace(lost.at, lost.peer).second) << "told twice";
                EXPECT_TRUE(lost.peer == 1 || lost.peer == 2);
            }
            ASSERT_EQ(told.size(), 8U);
            for (const size_t survivor : {0U, 3U, 4U, 5U})
                for (const size_t gone : {1U, 2U}) {
                    EXPECT_EQ(traffic.unended(survivor, gone), 0U);
                    const End& late = traffic.send(survivor, gone, {1, 50, 0}, 10);
                    traffic.cluster.run();
                    EXPECT_TRUE(late.failed_with(ErrorKind::unavailable));
                }
            EXPECT_TRUE(traffic.crosses(0, 4));
            EXPECT_TRUE(traffic.crosses(5, 3));
            for (const size_t survivor : {0U, 3U, 4U, 5U})
                traffic.cluster.transport(survivor).close_exchange(1);
            traffic.cluster.run();
            for (const size_t survivor : {0U, 3U, 4U, 5U})
                for (size_t with = 0; with < 6; ++with)
                    EXPECT_EQ(traffic.unended(survivor, with), 0U);
            EXPECT_TRUE(traffic.cluster.idle());
        }
}

TEST(FlatTransport, ToDisconnectAParticipantElsewhereIsToDisconnectItsNode) {
    Traffic traffic;
    const End& mine = traffic.receive(3, 1, {1, 0, 0}, 10);
    const End& other = traffic.receive(4, 2, {1, 0, 0}, 10);
    const End& within = traffic.receive(4, 3, {1, 0, 0}, 10);
    traffic.cluster.transport(3).disconnect(1);
    traffic.cluster.run();
    EXPECT_TRUE(mine.failed_with(ErrorKind::unavailable));
    EXPECT_TRUE(other.failed_with(ErrorKind::unavailable));
    EXPECT_EQ(within.times, 0);
    // Participant 3 knows. Participants 4 and 5 are told of both.
    EXPECT_EQ(traffic.lost.size(), 4U);
    for (const LostParticipant& lost : traffic.lost) {
        EXPECT_TRUE(lost.at == 4 || lost.at == 5);
        EXPECT_EQ(lost.unended, 0U);
    }
    traffic.cluster.transport(4).disconnect(1);  // a second disconnect tells nothing more
    traffic.cluster.run();
    EXPECT_EQ(traffic.lost.size(), 4U);
    EXPECT_TRUE(traffic.crosses(0, 4));
    EXPECT_TRUE(traffic.crosses(0, 1));
}

TEST(FlatTransport, DisconnectWithinANodeEndsWhatIsBetweenTheTwo) {
    Traffic traffic;
    const End& receive = traffic.receive(3, 4, {1, 0, 0}, 10);
    const End& large = traffic.send(3, 4, {1, 1, 0}, 50000);
    const End& theirs = traffic.send(4, 3, {1, 2, 0}, 50000);
    const End& other = traffic.receive(3, 5, {1, 0, 0}, 10);
    traffic.cluster.transport(3).disconnect(4);
    EXPECT_EQ(receive.times, 0) << "ended inside the call";
    traffic.cluster.run();
    EXPECT_TRUE(receive.failed_with(ErrorKind::unavailable));
    EXPECT_TRUE(large.failed_with(ErrorKind::unavailable));
    EXPECT_TRUE(theirs.ok()) << "dropped; its sender goes on";
    EXPECT_EQ(other.times, 0);
    const End& later = traffic.send(3, 4, {1, 3, 0}, 10);
    const End& dropped = traffic.send(4, 3, {1, 4, 0}, 50000);
    traffic.cluster.run();
    EXPECT_TRUE(later.failed_with(ErrorKind::unavailable));
    EXPECT_TRUE(dropped.ok());
    EXPECT_TRUE(traffic.lost.empty());
    EXPECT_TRUE(traffic.crosses(3, 5));
    EXPECT_TRUE(traffic.crosses(5, 4));
}

TEST(FlatTransport, EqualSlotsOfAllPairsDoNotMeet) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
        Traffic traffic(seed);
        std::vector<std::vector<std::vector<std::byte>>> received(
            6, std::vector<std::vector<std::byte>>(6, std::vector<std::byte>(20000)));
        for (size_t i = 0; i < 6; ++i)
            for (size_t j = 0; j < 6; ++j) {
                if (i == j) continue;
                traffic.cluster.transport(j).receive(static_cast<PeerId>(i), {9, 4, 2},
                                                     received[i][j], {});
                traffic.send(i, j, {9, 4, 2}, 20000);
            }
        traffic.cluster.run();
        for (size_t i = 0; i < 6; ++i)
            for (size_t j = 0; j < 6; ++j)
                if (i != j) {
                    EXPECT_EQ(received[i][j], pattern(20000, 100 * i + j));
                }
    }
}

TEST(FlatTransport, ASecondMessageForASlotWithinANodeIsItsSendersFault) {
    Traffic traffic;
    for (const size_t size : {10U, 20000U}) {
        const Tag tag{5, static_cast<uint32_t>(size), 0};
        const End& first = traffic.send(1, 2, tag, size);
        const End& second = traffic.send(1, 2, tag, size);
        traffic.cluster.run();
        EXPECT_TRUE(second.failed_with(ErrorKind::invalid));
        traffic.receive(2, 1, tag, size);
        traffic.cluster.run();
        EXPECT_TRUE(first.ok());
    }
}

TEST(FlatTransport, ACompletionMayDisconnectAndCloseAndStartMore) {
    Traffic traffic;
    FlatTransport& transport = traffic.cluster.transport(2);
    std::vector<std::byte> bytes(10);
    std::vector<std::byte> more(10);
    int ends = 0;
    transport.receive(1, {1, 0, 0}, bytes, [&](base::Result<> result) {
        EXPECT_TRUE(result);
        transport.disconnect(1);
        transport.disconnect(0);
        transport.close_exchange(1);
        transport.receive(3, {2, 0, 0}, more, [&](base::Result<> got) {
            EXPECT_TRUE(got);
            ++ends;
        });
    });
    const End& within = traffic.receive(2, 1, {1, 1, 0}, 10);
    const End& between = traffic.receive(2, 0, {1, 1, 0}, 10);
    const End& closed = traffic.receive(2, 4, {1, 1, 0}, 10);
    traffic.send(1, 2, {1, 0, 0}, 10);
    traffic.send(3, 2, {2, 0, 0}, 10);
    traffic.cluster.run();
    EXPECT_EQ(ends, 1);
    EXPECT_TRUE(within.failed_with(ErrorKind::unavailable));
    EXPECT_EQ(between.times, 1);
    EXPECT_TRUE(closed.failed_with(ErrorKind::canceled));
}

TEST(FlatTransport, TheEndEndsEverythingAtEveryMoment) {
    for (size_t steps = 0; steps < 10; ++steps) {
        Traffic traffic;  // its destructor checks the records
        traffic.start_all(3);
        for (size_t i = 0; i < steps; ++i) traffic.cluster.progress();
    }
}

// The loop goes on during the copy. Both ends wait for the copy, even if the exchange is closed.
TEST(FlatTransport, AThreadOfThePoolCopiesWhatIsLargeWithinANode) {
    constexpr size_t kBytes = size_t{1} << 20U;
    const auto loop = base::EventLoop::create().value();
    kernels::WorkerPool pool(1);
    std::promise<void> held;
    pool.submit(
        1, 1, [&held](size_t, size_t) { held.get_future().wait(); }, [](auto) {}, [] {});
    transports::MemoryNetwork network;
    const auto real = network.create();
    FlatNode node(*real, {std::nullopt, std::nullopt},
                  kernels::Aside(pool, loop->poster(), kBytes));
    const std::vector<std::byte> sent(kBytes, std::byte{7});
    std::vector<std::byte> received(kBytes);
    int ended = 0;
    const auto count = [&ended](const base::Result<>& result) {
        EXPECT_TRUE(result);
        ++ended;
    };
    node.participant(0).send(1, {1, 2, 3}, sent, count);
    node.participant(1).receive(0, {1, 2, 3}, received, count);
    node.participant(0).close_exchange(1);
    node.participant(1).close_exchange(1);
    for (int i = 0; i < 10; ++i) {
        node.poll();
        loop->turn(false);
    }
    EXPECT_EQ(ended, 0) << "it is not copied yet";
    held.set_value();
    while (ended < 2) loop->turn(true);
    EXPECT_EQ(received, sent);
}

TEST(FlatTransport, ANodeWithWorkDoesNotSleep) {
    Traffic traffic;
    EXPECT_TRUE(traffic.cluster.flat(2).arm());
    traffic.send(3, 4, {1, 0, 0}, 10);
    EXPECT_FALSE(traffic.cluster.flat(2).arm());
    traffic.cluster.run();
    EXPECT_TRUE(traffic.cluster.flat(2).arm());
    traffic.cluster.flat(2).peer_lost(12345, {ErrorKind::unavailable, "a stranger"});
    EXPECT_TRUE(traffic.cluster.flat(2).arm());
}

}  // namespace

}  // namespace pace::sparse

namespace pace::transports::conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Flat, Delivery, pace::sparse::FlatFabrics);
INSTANTIATE_TYPED_TEST_SUITE_P(Flat, Matching, pace::sparse::FlatFabrics);
}  // namespace pace::transports::conformance
