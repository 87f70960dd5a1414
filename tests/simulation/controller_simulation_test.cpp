// Controller simulation tests: whole clusters in virtual time. Large clusters are calm. Small
// clusters are under every fault at once.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "service/controller/core/status/status.h"
#include "world.h"

namespace pace::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

JobOptions job_of(uint32_t world, uint32_t group_size, Weights weights = Weights::constant,
                  Missing missing = Missing::closest) {
    JobOptions options;
    options.name = "simulated";
    options.world = world;
    options.group_size = group_size;
    options.weights = weights;
    options.missing = missing;
    return options;
}

void expect_sound(World& world, uint64_t seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    world.run();
    for (const std::string& violation : world.checker().violations()) ADD_FAILURE() << violation;
}

TEST(Simulation, OfFiveThousandWorkersGroupsThemAllWithoutFaults) {
    Scenario scenario;
    scenario.seed = 11;
    scenario.job = job_of(5000, 3);
    scenario.per_node = 32;
    scenario.length = seconds(2);
    World world(scenario);
    expect_sound(world, scenario.seed);
    EXPECT_GE(world.checker().full_groups() * 100, world.checker().groups() * 99);
    for (Rank rank = 0; rank < 5000; ++rank) EXPECT_GE(world.checker().orders_of(rank), 5U);
    // T is 2 * ceil(4999 / 2). The slowest worker signals about once in two windows.
    EXPECT_TRUE(world.checker().recent_groups_connect(3 * 5000, world.now() - seconds(1)));
}

TEST(Simulation, OfFiveThousandWorkersSurvivesFaultsOfEveryKind) {
    Scenario scenario;
    scenario.seed = 12;
    scenario.job = job_of(5000, 4, Weights::dynamic, Missing::initial);
    scenario.per_node = 50;
    scenario.step = milliseconds(40);
    scenario.length = seconds(4);
    scenario.faults = {milliseconds(100), milliseconds(100), milliseconds(20), milliseconds(1500),
                       seconds(3)};
    World world(scenario);
    expect_sound(world, scenario.seed);
    EXPECT_GT(world.checker().groups(), 20'000U);
}

TEST(Simulation, OfManySmallClustersSurvivesFaultsOfEveryKind) {
    for (uint64_t seed = 100; seed < 130; ++seed) {
        base::Random random(seed);
        Scenario scenario;
        scenario.seed = seed;
        const auto workers = static_cast<uint32_t>(2 + random.below(40));
        const auto group_size = static_cast<uint32_t>(2 + random.below(workers - 1));
        const bool dynamic = random.below(2) == 0;
        const bool initial = dynamic && random.below(2) == 0;
        scenario.job = job_of(workers, group_size, dynamic ? Weights::dynamic : Weights::constant,
                              initial ? Missing::initial : Missing::closest);
        scenario.per_node = static_cast<uint32_t>(1 + random.below(4));
        scenario.spread = 1 + 9 * random.uniform();
        scenario.length = seconds(12);
        scenario.faults = {milliseconds(700), milliseconds(900), milliseconds(500), seconds(3),
                           seconds(6)};
        World world(scenario);
        expect_sound(world, seed);
    }
}

// Returns a tree with some more edges.
std::vector<uint32_t> random_graph(uint32_t world, base::Random& random) {
    std::vector<uint32_t> edges;
    for (uint32_t rank = 1; rank < world; ++rank)
        edges.insert(edges.end(), {static_cast<uint32_t>(random.below(rank)), rank});
    for (uint64_t more = random.below(2 * world); more > 0; --more) {
        const auto a = static_cast<uint32_t>(random.below(world));
        const auto b = static_cast<uint32_t>(random.below(world));
        if (a != b) edges.insert(edges.end(), {a, b});
    }
    return edges;
}

// Returns a small cluster of the policy under every fault.
Scenario stormy(Policy policy, uint64_t seed) {
    base::Random random(seed);
    Scenario scenario;
    scenario.seed = seed;
    // With fewer workers, all might leave at once, which ends the job.
    const auto workers = static_cast<uint32_t>(4 + random.below(18));
    scenario.job = job_of(workers, policy == Policy::partial_reduce ? std::min(workers, 3U) : 0);
    scenario.job.policy = policy;
    if (policy == Policy::ad_psgd && seed % 2 == 1)
        scenario.job.edges = random_graph(workers, random);
    scenario.per_node = static_cast<uint32_t>(1 + random.below(4));
    scenario.spread = 1 + 4 * random.uniform();
    scenario.length = seconds(12);
    scenario.faults = {milliseconds(700), milliseconds(900), milliseconds(500), seconds(3),
                       seconds(6)};
    return scenario;
}

constexpr std::array kPolicies = {Policy::partial_reduce, Policy::prague_random,
                                  Policy::prague_smart,   Policy::ad_psgd,
                                  Policy::full,           Policy::automatic};

TEST(Simulation, OfEveryPolicySurvivesFaultsOfEveryKind) {
    for (const Policy policy : kPolicies)
        for (uint64_t seed = 200; seed < 208; ++seed) {
            SCOPED_TRACE(::testing::Message() << "policy " << static_cast<int>(policy));
            World world(stormy(policy, seed));
            expect_sound(world, seed);
        }
}

TEST(Simulation, OfAnnouncedStepsSurvivesFaultsOfEveryKind) {
    for (const Policy policy : kPolicies)
        for (uint64_t seed = 300; seed < 308; ++seed) {
            SCOPED_TRACE(::testing::Message() << "policy " << static_cast<int>(policy));
            Scenario scenario = stormy(policy, seed);
            scenario.announcements = true;
            World world(scenario);
            expect_sound(world, seed);
        }
}

TEST(Simulation, OfSmartGroupsOverZonesSurvivesFaultsOfEveryKind) {
    for (uint64_t seed = 400; seed < 416; ++seed) {
        Scenario scenario = stormy(Policy::prague_smart, seed);
        scenario.zones = static_cast<uint32_t>(2 + seed % 3);
        World world(scenario);
        expect_sound(world, seed);
    }
}

// A worker that a death cuts off goes on alone. It meets its neighbors again when they are back.
TEST(Simulation, OfPairsOnGraphsSurvivesFaultsOfEveryKind) {
    for (uint64_t seed = 401; seed < 431; seed += 2) {
        Scenario scenario = stormy(Policy::ad_psgd, seed);
        scenario.announcements = seed % 4 == 1;
        World world(scenario);
        expect_sound(world, seed);
        EXPECT_GT(world.checker().groups(), 100U) << "seed " << seed;
    }
}

TEST(Simulation, OfPairsOnGraphsConnectsAll) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        base::Random random(seed);
        Scenario scenario;
        scenario.seed = seed;
        const auto workers = static_cast<uint32_t>(2 + random.below(16));
        scenario.job = job_of(workers, 0);
        scenario.job.policy = Policy::ad_psgd;
        scenario.job.edges = random_graph(workers, random);
        scenario.per_node = 2;
        scenario.length = seconds(8);
        World world(scenario);
        expect_sound(world, seed);
        EXPECT_TRUE(world.checker().recent_groups_connect(100'000, TimePoint{})) << "seed " << seed;
        for (Rank rank = 0; rank < workers; ++rank)
            EXPECT_GE(world.checker().orders_of(rank), 10U) << "seed " << seed << " rank " << rank;
    }
}

TEST(Simulation, IsAFunctionOfItsSeed) {
    const auto groups = [](uint64_t seed) {
        Scenario scenario;
        scenario.seed = seed;
        scenario.job = job_of(30, 3);
        scenario.length = seconds(3);
        scenario.faults.trainer_dies = milliseconds(100);
        World world(scenario);
        world.run();
        return world.checker().groups();
    };
    EXPECT_EQ(groups(5), groups(5));
    EXPECT_NE(groups(5), groups(6));
}

// There are two racks in lockstep, half a step apart. The filter must join them.
TEST(Simulation, ConnectsWorkersThatWouldGroupApartForEver) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Scenario scenario;
        scenario.seed = seed;
        scenario.job = job_of(8, 2);
        scenario.per_node = 1;
        scenario.spread = 1.02;
        scenario.length = seconds(4);
        World world(scenario);
        expect_sound(world, seed);
        EXPECT_TRUE(world.checker().recent_groups_connect(2 * 14, world.now() - seconds(1)))
            << "seed " << seed;
    }
}

}  // namespace
}  // namespace pace::simulation
