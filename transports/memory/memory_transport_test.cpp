#include "transports/memory/memory_transport.h"

#include <string>

#include "base/loop/event_loop.h"
#include "transports/conformance.h"

namespace pace::transports {
namespace {

class MemoryFabric {
  public:
    explicit MemoryFabric(std::optional<uint64_t> seed = std::nullopt) : network_(seed) {}
    std::unique_ptr<Transport> create() { return network_.create(); }
    void vanish(std::unique_ptr<Transport>& transport) {
        network_.kill(static_cast<MemoryTransport&>(*transport));
    }

  private:
    MemoryNetwork network_;
};

template <uint64_t Seed>
class ShuffledMemoryFabric : public MemoryFabric {
  public:
    ShuffledMemoryFabric() : MemoryFabric(Seed) {}
};

using MemoryFabrics = ::testing::Types<MemoryFabric, ShuffledMemoryFabric<1>,
                                       ShuffledMemoryFabric<2>, ShuffledMemoryFabric<3>>;

// Returns the slots in the order in which node 2 gets them from nodes 0 and 1.
std::string order_of_arrival(std::optional<uint64_t> seed) {
    MemoryNetwork network(seed);
    const auto a = network.create();
    const auto b = network.create();
    const auto c = network.create();
    const PeerId a_to_c = *a->connect(c->address());
    const PeerId b_to_c = *b->connect(c->address());
    const PeerId c_to_a = *c->connect(a->address());
    const PeerId c_to_b = *c->connect(b->address());
    std::string order;
    for (uint32_t slot = 0; slot < 8; ++slot) {
        c->receive(c_to_a, {1, slot, 0}, {},
                   [&order, slot](base::Result<>) { order += static_cast<char>('a' + slot); });
        c->receive(c_to_b, {1, slot, 0}, {},
                   [&order, slot](base::Result<>) { order += static_cast<char>('A' + slot); });
        a->send(a_to_c, {1, slot, 0}, {}, {});
        b->send(b_to_c, {1, slot, 0}, {}, {});
    }
    while (network.progress()) {
    }
    return order;
}

TEST(MemoryNetwork, DeliversInTheOrderOfSendingWithoutASeed) {
    EXPECT_EQ(order_of_arrival(std::nullopt), "aAbBcCdDeEfFgGhH");
}

TEST(MemoryNetwork, ReplaysASeedAndShufflesBySeed) {
    EXPECT_EQ(order_of_arrival(1).size(), 16U);
    EXPECT_EQ(order_of_arrival(1), order_of_arrival(1));
    EXPECT_NE(order_of_arrival(1), order_of_arrival(2));
}

TEST(MemoryNetwork, AFrozenEndpointNeitherReceivesNorDeliversUntilItThaws) {
    MemoryNetwork network;
    const auto a = network.create();
    const auto b = network.create();
    const PeerId a_to_b = *a->connect(b->address());
    const PeerId b_to_a = *b->connect(a->address());
    int lost = 0;
    int ended = 0;
    a->set_peer_lost_handler([&](PeerId, const base::Error&) { ++lost; });
    const auto count = [&](base::Result<> result) { ended += result.ok() ? 1 : 0; };
    std::vector<std::byte> large(MemoryNetwork::kCopiedBytesMax + 1);
    std::vector<std::byte> received(large.size());
    b->send(b_to_a, {1, 0, 0}, {}, {});
    network.freeze(*b);
    a->receive(a_to_b, {1, 0, 0}, {}, count);
    a->send(a_to_b, {1, 1, 0}, large, count);
    b->receive(b_to_a, {1, 1, 0}, received, count);
    while (network.progress()) {
    }
    EXPECT_EQ(ended, 0);
    EXPECT_TRUE(a->arm()) << "nothing to do while the peer is frozen";
    network.thaw(*b);
    while (network.progress()) {
    }
    EXPECT_EQ(ended, 3);
    EXPECT_EQ(lost, 0);
}

TEST(MemoryNetwork, EndpointsRunAsPollersOfAnEventLoop) {
    MemoryNetwork network;
    auto loop = base::EventLoop::create();
    ASSERT_TRUE(loop);
    const auto a = network.create();
    const auto b = network.create();
    const PeerId a_to_b = *a->connect(b->address());
    const PeerId b_to_a = *b->connect(a->address());
    (*loop)->add_poller(a.get());
    (*loop)->add_poller(b.get());
    b->receive(b_to_a, {1, 0, 0}, {}, [&](base::Result<> result) {
        EXPECT_TRUE(result);
        (*loop)->stop();
    });
    // If arm() overlooked the message, the loop would sleep for ever.
    const base::Timer sending = (*loop)->run_after(std::chrono::milliseconds(2), [&] {
        a->send(a_to_b, {1, 0, 0}, {}, {});
    });
    (*loop)->run();
}

}  // namespace
}  // namespace pace::transports

PACE_INSTANTIATE_CONFORMANCE(Memory, pace::transports::MemoryFabrics);
