// Tests that the message that a round starts reaches every node, whoever starts the round.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/partial/agreement/activation.h"

namespace pace::partial {
namespace {

using base::ErrorKind;
using collectives::TestCluster;

// Every node of a cluster, listening. Each node ends when its communicator is aborted.
struct Crowd {
    explicit Crowd(size_t nodes, std::optional<uint64_t> seed = std::nullopt)
        : times(nodes, 0), cluster(nodes, seed) {
        for (size_t node = 0; node < nodes; ++node) {
            activations.push_back(std::make_unique<Activation>(
                cluster.communicator(node),
                Activation::Events{[this, node] { ++times[node]; }, [] {}}));
            activations[node]->listen();
            cluster.start(node, until_over(*activations[node], cluster.communicator(node)));
        }
    }
    ~Crowd() { close(); }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    static base::Task<base::Result<>> until_over(Activation& activation,
                                                 collectives::Communicator& communicator) {
        co_await activation.ended();
        co_return communicator.status();
    }

    void close() {
        for (size_t node = 0; node < cluster.size(); ++node)
            cluster.communicator(node).abort({ErrorKind::closed, "over"});
        cluster.run();
    }

    uint64_t messages() {
        uint64_t sum = 0;
        for (size_t node = 0; node < cluster.size(); ++node)
            sum += cluster.transport(node).counters().messages_sent;
        return sum;
    }

    void expect_all_activated_once() {
        for (size_t node = 0; node < times.size(); ++node)
            ASSERT_EQ(times[node], 1) << "node " << node << " of " << times.size();
    }

    std::vector<int> times;
    std::vector<std::unique_ptr<Activation>> activations;
    TestCluster cluster;
};

TEST(Activation, OneStarterReachesAllWithOneMessageEach) {
    for (size_t nodes = 1; nodes <= 17; ++nodes)
        for (size_t starter = 0; starter < nodes; ++starter)
            for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {nodes + 1}}) {
                Crowd crowd(nodes, seed);
                crowd.activations[starter]->start();
                crowd.cluster.run();
                crowd.expect_all_activated_once();
                ASSERT_EQ(crowd.messages(), nodes - 1) << "from " << starter;
            }
}

TEST(Activation, NobodyIsActivatedBeforeSomebodyStarts) {
    Crowd crowd(6);
    crowd.cluster.run();
    for (const int times : crowd.times) EXPECT_EQ(times, 0);
    EXPECT_EQ(crowd.messages(), 0U);
}

TEST(Activation, ManyStartersAtAnyMomentsActivateEachNodeOnce) {
    for (size_t nodes = 1; nodes <= 17; ++nodes)
        for (uint64_t seed = 1; seed <= 40; ++seed) {
            SCOPED_TRACE(testing::Message() << nodes << " nodes, seed " << seed);
            base::Random random(seed);
            Crowd crowd(nodes, seed);
            const size_t starters = 1 + random.below(nodes);
            for (size_t i = 0; i < starters; ++i) {
                crowd.activations[random.below(nodes)]->start();
                for (size_t steps = random.below(4); steps > 0; --steps)
                    crowd.cluster.network().progress();
            }
            crowd.cluster.run();
            crowd.expect_all_activated_once();
            ASSERT_GE(crowd.messages(), nodes - 1);
            ASSERT_LE(crowd.messages(), starters * (nodes - 1));
        }
}

TEST(Activation, AllStartingAtOnceUseEachEdgeOnce) {
    for (size_t nodes = 1; nodes <= 17; ++nodes) {
        Crowd crowd(nodes);
        for (size_t node = 0; node < nodes; ++node) crowd.activations[node]->start();
        crowd.cluster.run();
        crowd.expect_all_activated_once();
        size_t dimensions = 0;
        while ((size_t{2} << dimensions) <= nodes) ++dimensions;
        const size_t cube = size_t{1} << dimensions;
        ASSERT_EQ(crowd.messages(), cube * dimensions + 2 * (nodes - cube));
        for (size_t node = 0; node < nodes; ++node)
            ASSERT_FALSE(crowd.cluster.communicator(node).aborted());
    }
}

TEST(Activation, ANodeThatDiesLeavesNobodyHanging) {
    for (const size_t nodes : {2U, 5U, 8U, 11U})
        for (size_t victim = 0; victim < nodes; ++victim)
            for (const size_t starter : {size_t{0}, nodes - 1})
                for (size_t step = 0; step < 8; ++step) {
                    Crowd crowd(nodes);
                    crowd.activations[starter]->start();
                    for (size_t i = 0; i < step; ++i) crowd.cluster.network().progress();
                    crowd.cluster.network().kill(crowd.cluster.transport(victim));
                    crowd.cluster.run();
                    for (size_t node = 0; node < nodes; ++node) {
                        if (node == victim) continue;
                        ASSERT_LE(crowd.times[node], 1);
                        // The node has ended with an error, or had heard from all neighbours
                        // before.
                        ASSERT_EQ(crowd.cluster.ends(node), 1);
                        if (crowd.cluster.outcome(node)) {
                            ASSERT_EQ(crowd.times[node], 1);
                            continue;
                        }
                        ASSERT_EQ(crowd.cluster.outcome(node).error().kind, ErrorKind::unavailable);
                    }
                }
}

}  // namespace
}  // namespace pace::partial
