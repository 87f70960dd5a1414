// Worlds that were found to go wrong once, and what the simulation promises of itself.
#include <gtest/gtest.h>

#include "base/log/log.h"
#include "base/sanitized.h"
#include "tests/world/world.h"

namespace pace::world {
namespace {

using std::chrono::milliseconds;

// A sanitizer takes several times as long for a seed, and finds the same in few.
constexpr uint64_t seeds(uint64_t all) {
    return base::kSanitized ? (all + 7) / 8 : all;
}

class WorldTest : public testing::TestWithParam<Family> {
  protected:
    WorldTest() { base::set_log_level(base::LogLevel::none); }
    ~WorldTest() override { base::set_log_level(before_); }

    static Plan calm(Family family, uint64_t seed, uint32_t machines, uint32_t workers) {
        Plan plan;
        plan.seed = seed;
        plan.family = family;
        plan.machines = machines;
        plan.jobs.push_back(job_of(family, seed, workers));
        plan.faulty = milliseconds(500);
        return plan;
    }
    static Plan point_with_clients(FaultKind kind, const char* point, uint32_t occurrence) {
        Plan plan = plan_of_point(occurrence, GetParam(), kind, point, occurrence);
        plan.faulty = milliseconds(1000);
        plan.clients = true;
        return plan;
    }
    static void expect_sound(const Plan& plan) {
        const Report report = run(plan);
        for (const std::string& wrong : report.wrongs)
            ADD_FAILURE() << to_text(plan) << "\n" << wrong;
    }

  private:
    base::LogLevel before_ = base::log_level();
};

TEST_P(WorldTest, TrainsWithoutFaultsAndLeavesNothing) {
    expect_sound(calm(GetParam(), 1, 3, 6));
}

TEST_P(WorldTest, SurvivesAFewSeeds) {
    for (uint64_t seed = 1; seed <= seeds(2); ++seed) expect_sound(plan_of(seed, GetParam()));
}

TEST_P(WorldTest, IsAFunctionOfItsSeed) {
    const auto hash = [](uint64_t seed) { return run(plan_of(seed, GetParam())).hash; };
    EXPECT_EQ(hash(5), hash(5));
    EXPECT_NE(hash(5), hash(6));
}

TEST_P(WorldTest, TrainsWithRealClientsAndLeavesNothing) {
    Plan plan = calm(GetParam(), 1, 3, 6);
    plan.clients = true;
    expect_sound(plan);
}

TEST_P(WorldTest, IsAFunctionOfItsSeedWithRealClients) {
    if (base::kSanitized)
        GTEST_SKIP()
            << "it takes minutes under a sanitizer, and other worlds have real clients, too";
    const auto hash = [](uint64_t seed) {
        Plan plan = plan_of(seed, GetParam());
        plan.clients = true;
        const Report report = run(plan);
        EXPECT_EQ(report.wrongs, std::vector<std::string>()) << to_text(plan);
        return report.hash;
    };
    EXPECT_EQ(hash(5), hash(5));
}

TEST_P(WorldTest, ADaemonMayDieAtEachStepOfACall) {
    for (const char* point :
         {"after a submission is taken", "before a write mark", "after a write mark",
          "before a completion", "in a completion", "after a completion"})
        for (const uint32_t occurrence : {23U, 41U})
            expect_sound(point_with_clients(FaultKind::daemon_dies, point, occurrence));
}

TEST_P(WorldTest, ATrainerMayDieOrFreezeAtEachStepOfACall) {
    for (const char* point : {"before a submission", "in a submission", "after a submission",
                              "before a completion is taken"})
        for (const FaultKind kind : {FaultKind::trainer_dies, FaultKind::trainer_freezes})
            expect_sound(point_with_clients(kind, point, 23));
}

// One of the four joins is that of the first broadcast's root. The others' broadcasts end until it
// is back, and the job then gets its first model.
TEST_P(WorldTest, ARootThatIsLostBeforeTheFirstBroadcastBeginsTheJobWhenItIsBack) {
    for (const FaultKind kind :
         {FaultKind::trainer_leaves, FaultKind::trainer_dies, FaultKind::daemon_dies})
        for (uint32_t join = 1; join <= seeds(4); ++join) {
            Plan plan = plan_of_point(3, GetParam(), kind, "after WorkerJoin", join);
            plan.faulty = milliseconds(1000);
            expect_sound(plan);
        }
}

TEST_P(WorldTest, SurvivesASeedWithManyWorkers) {
    if (base::kSanitized) GTEST_SKIP() << "sanitizers see the same code in small worlds";
    expect_sound(plan_of(1, GetParam(), 24));
}

TEST_F(WorldTest, IsSeldomLargeUnlessItsSizeIsForced) {
    int large = 0;
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        const Plan plan = plan_of(seed);
        EXPECT_LE(plan.machines, kMachinesMax);
        EXPECT_LE(plan.jobs[0].world, kWorkersMax);
        large += plan.jobs[0].world > 16 ? 1 : 0;
        const Plan forced = plan_of(seed, Family::groups, kWorkersMax);
        EXPECT_EQ(forced.jobs[0].world, kWorkersMax);
        EXPECT_LE(forced.machines, kMachinesMax);
    }
    EXPECT_GT(large, 30);
    EXPECT_LT(large, 80);
}

// The controller must not hear the join before the leave, which then takes the newcomer's place.
TEST_F(WorldTest, AWorkerThatLeavesAndComesBackWhileTheControllerIsAwayTrains) {
    for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
        Plan plan = calm(Family::groups, seed, 4, 8);
        plan.faulty = milliseconds(6000);
        plan.faults = {{.kind = FaultKind::controller_freezes,
                        .at = milliseconds(1200),
                        .length = milliseconds(4400)},
                       {.kind = FaultKind::trainer_leaves,
                        .at = milliseconds(2550),
                        .length = milliseconds(560)}};
        expect_sound(plan);
    }
}

// Its sockets hold all messages of a round that the others have repeated meanwhile, and its
// monotonic clock has stood still. Who gave it up has died, too.
TEST_F(WorldTest, AMachineThatSleptThroughARoundHasNoResultOfIt) {
    for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
        Plan plan = calm(Family::all_reduce, seed, 4, 12);
        plan.faulty = milliseconds(9000);
        plan.faults = {{.kind = FaultKind::machine_sleeps,
                        .at = milliseconds(3000 + seed),
                        .length = milliseconds(5400)},
                       {.kind = FaultKind::controller_dies,
                        .at = milliseconds(5750),
                        .length = milliseconds(650)}};
        expect_sound(plan);
    }
}

// The root of the broadcasts is lost with a part of the model. A model begins anew with zeros,
// which a worker must not get that has asked for the one before.
TEST_F(WorldTest, AWorkerThatComesWhileTheModelIsLostWaitsForItsRoot) {
    for (uint64_t seed = 1; seed <= seeds(4); ++seed) {
        Plan plan = calm(Family::server, seed, 4, 8);
        plan.jobs[0].checkpoint_every_ms = 0;
        plan.faulty = milliseconds(6500);
        plan.faults = {{.kind = FaultKind::daemon_dies,
                        .at = milliseconds(1000),
                        .length = milliseconds(5500)},
                       {.kind = FaultKind::trainer_dies,
                        .at = milliseconds(1000),
                        .length = milliseconds(44),
                        .target = 6}};
        expect_sound(plan);
    }
}

class DiskTest : public WorldTest {
  protected:
    // A server job that saves its model five times a second.
    static Plan saving(uint64_t seed) {
        Plan plan = calm(Family::server, seed, 3, 4);
        plan.jobs[0].checkpoint_every_ms = 200;
        plan.faulty = milliseconds(2000);
        return plan;
    }
    static void on_all(Plan& plan, FaultKind kind, base::Duration at) {
        for (uint32_t machine = 0; machine < plan.machines; ++machine)
            plan.faults.push_back(
                {.kind = kind, .at = at, .length = milliseconds(300), .target = machine});
    }
    static uint32_t told(const Plan& plan, const std::string& note) {
        const Report report = run(plan);
        EXPECT_EQ(report.wrongs, std::vector<std::string>()) << to_text(plan);
        const auto found = report.notes.find(note);
        return found == report.notes.end() ? 0 : found->second;
    }
};

TEST_F(DiskTest, AModelIsThatOfItsLastCheckpointAfterAPowerCut) {
    for (uint64_t seed = 1; seed <= seeds(4); ++seed) {
        Plan plan = saving(seed);
        on_all(plan, FaultKind::machine_dies, milliseconds(1000 + 7 * seed));
        EXPECT_GE(told(plan, "model-restored"), 1U) << seed;
    }
}

TEST_F(DiskTest, AModelIsSaidToBeLostIfNoCheckpointIsWhole) {
    Plan plan = saving(1);
    on_all(plan, FaultKind::machine_dies, milliseconds(1100));
    // So often that no checkpoint is left whole.
    for (int i = 0; i < 30; ++i) on_all(plan, FaultKind::disk_damages, milliseconds(1101));
    EXPECT_GE(told(plan, "model-lost"), 1U);
}

TEST_F(DiskTest, ADamagedCheckpointIsNeverAModel) {
    for (uint64_t seed = 1; seed <= seeds(6); ++seed) {
        Plan plan = saving(seed);
        on_all(plan, FaultKind::machine_dies, milliseconds(1100));
        for (int i = 0; i < 3; ++i) on_all(plan, FaultKind::disk_damages, milliseconds(1101));
        expect_sound(plan);
    }
}

TEST_F(DiskTest, TrainingGoesOnWhileADiskIsFullOrBroken) {
    for (const FaultKind kind : {FaultKind::disk_full, FaultKind::disk_fails}) {
        Plan plan = saving(2);
        on_all(plan, kind, milliseconds(800));
        EXPECT_GE(told(plan, "checkpoint-failed"), 1U);
    }
}

TEST_F(DiskTest, EveryStepOfAWriteCanBeTheLast) {
    for (uint32_t step = 1; step <= 6; ++step) {
        Plan plan = saving(3 + step);
        const FaultKind kind =
            step % 2 == 0 ? FaultKind::daemon_dies_writing : FaultKind::machine_dies_writing;
        plan.faults.push_back({.kind = kind,
                               .at = milliseconds(900),
                               .length = milliseconds(300),
                               .occurrence = step});
        expect_sound(plan);
    }
}

std::string name_of_family(const testing::TestParamInfo<Family>& info) {
    std::string name(name_of(info.param));
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Families, WorldTest,
                         testing::Values(Family::all_reduce, Family::quorum, Family::top_k,
                                         Family::groups, Family::static_groups, Family::server),
                         name_of_family);

}  // namespace
}  // namespace pace::world
