#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/controller/core/serving/server.h"
#include "service/controller/core/tests/server_fixture.h"

namespace pace::controller {
namespace {

// Nodes that have the ledger's order learn everything else by entries only.
TEST(ServerRestart, WhoeverComesOrGoesWhileTheOrderIsForgottenIsInItThen) {
    ServerOptions options;
    options.rate = Rate::sum;
    options.staleness = 3;
    Server before(options);
    for (const Rank rank : {0U, 1U, 2U}) before.add_member(rank);
    for (uint64_t clock = 0; clock < 3; ++clock)
        for (const Rank rank : {0U, 1U, 2U}) before.stored(rank, clock, TimePoint());
    before.stored(0, 3, TimePoint());
    const ServerLedger ledger = before.ledger();

    Server successor(options);
    successor.add_member(0);
    successor.add_newcomer(1);  // its predecessor is in the ledger
    successor.add_newcomer(3);  // not in the ledger
    successor.restore(ledger, TimePoint());
    successor.forget_missing(TimePoint());
    std::vector<ServerEntry> entries;
    successor.take(entries);
    std::vector<std::pair<ServerStep, Rank>> steps;
    for (const ServerEntry& entry : entries) {
        EXPECT_EQ(entry.position, ledger.position + 1 + steps.size());
        steps.emplace_back(entry.step, entry.worker.rank);
    }
    const std::vector<std::pair<ServerStep, Rank>> expected = {{ServerStep::leave, 1U},
                                                               {ServerStep::join, 1U},
                                                               {ServerStep::join, 3U},
                                                               {ServerStep::leave, 2U}};
    EXPECT_EQ(steps, expected);
    EXPECT_EQ(successor.clocks().find(2), nullptr);
    EXPECT_EQ(successor.clocks().find(0)->clock, before.clocks().find(0)->clock);
    EXPECT_EQ(successor.clocks().find(3)->clock, successor.clocks().slowest());
}

// The journal that says so is lost, and the worker's node has slept meanwhile.
TEST(ServerRestart, AWorkerThatHadLeftIsNoMemberOfTheNextLife) {
    Hosts hosts;
    const JobOptions options = serving(3);
    const auto nodes = hosts.start(options);
    hosts.push(0, 0);
    const uint64_t epoch = hosts.view.epoch;
    hosts.send(from(nodes[2], WorkerLeave{1, 2, false}));
    ASSERT_EQ(hosts.view.members.size(), 2U);

    hosts.fixture.restart();
    for (Rank rank = 0; rank < 3; ++rank) {
        const NodeId node = hosts.attach("node" + std::to_string(rank), nodes[rank]);
        ASSERT_EQ(node, nodes[rank]);
        hosts.send(from(node, WorkerJoin{rank + 100, rank, options, 1000, true, 5, 0, epoch}));
    }
    EXPECT_EQ(hosts.suspended, std::vector<Rank>{2});
    EXPECT_EQ(hosts.view.members.size(), 2U);
    EXPECT_EQ(hosts.generations(), 1U);
    EXPECT_FALSE(hosts.view.model_lost);
}

}  // namespace
}  // namespace pace::controller
