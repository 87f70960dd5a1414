// Small world tests: worlds of 1 to 17 workers with every group size. All workers make progress,
// with and without a loss.
#include <gtest/gtest.h>

#include "world.h"

namespace pace::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SmallWorlds, AllMoveWithEveryGroupSize) {
    for (uint32_t workers = 1; workers <= 17; ++workers) {
        for (uint32_t size = 2; size <= std::max(workers, 2U); ++size) {
            Scenario scenario;
            scenario.seed = workers * 100 + size;
            scenario.job.name = "small";
            scenario.job.world = workers;
            scenario.job.group_size = size;
            scenario.per_node = 1 + workers % 3;
            scenario.length = seconds(3);
            World world(scenario);
            world.run();
            SCOPED_TRACE(::testing::Message() << workers << " workers in groups of " << size);
            for (const std::string& violation : world.checker().violations())
                ADD_FAILURE() << violation;
            for (Rank rank = 0; rank < workers; ++rank)
                EXPECT_GE(world.checker().orders_of(rank), 20U);
            EXPECT_TRUE(world.checker().recent_groups_connect(4 * workers,
                                                              world.now() - milliseconds(500)));
        }
    }
}

TEST(SmallWorlds, AllMoveOnWhenATrainerOrANodeDies) {
    for (uint32_t workers = 2; workers <= 17; ++workers) {
        for (uint32_t size = 2; size <= workers; ++size) {
            Scenario scenario;
            scenario.seed = workers * 1000 + size;
            scenario.job.name = "small";
            scenario.job.world = workers;
            scenario.job.group_size = size;
            scenario.per_node = 1 + workers % 2;
            scenario.length = seconds(6);
            scenario.faults.trainer_dies = milliseconds(800);
            scenario.faults.node_dies = milliseconds(1500);
            World world(scenario);
            world.run();
            SCOPED_TRACE(::testing::Message() << workers << " workers in groups of " << size);
            for (const std::string& violation : world.checker().violations())
                ADD_FAILURE() << violation;
            EXPECT_GT(world.checker().groups(), 20U);
        }
    }
}

}  // namespace
}  // namespace pace::simulation
