#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/controller/core/serving/server.h"

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

}  // namespace
}  // namespace pace::controller
