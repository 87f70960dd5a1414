#include "libclient/options/run.h"

#include <map>

#include <gtest/gtest.h>

namespace pace::client {
namespace {

using Rerun = protocol::client::Rerun;
using Variables = std::map<std::string, std::string>;

RunIdentity identity(const Variables& variables, const char* given = nullptr, bool resume = false) {
    const auto found = run_identity(given, resume, [&](const char* name) {
        const auto set = variables.find(name);
        return set == variables.end() ? nullptr : set->second.c_str();
    });
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : RunIdentity{};
}

TEST(RunIdentity, IsNoneWhereNobodySaysOne) {
    EXPECT_EQ(identity({}).id, "");
    EXPECT_EQ(identity({}).rerun, Rerun::when_all_died);
    EXPECT_EQ(identity({{"PACE_RUN_ID", ""}}).id, "");
}

TEST(RunIdentity, IsWhatTheUserSaysBeforeWhatALauncherSays) {
    const Variables both{{"PACE_RUN_ID", "mine"}, {"TORCHELASTIC_RUN_ID", "elastic"}};
    EXPECT_EQ(identity(both, "given").id, "given");
    EXPECT_EQ(identity(both).id, "mine");
    EXPECT_EQ(identity(both).rerun, Rerun::never);
}

// Each agent counts the restarts of its own workers. The counts of one rendezvous may differ.
TEST(RunIdentity, IsTorchrunsRendezvousWithoutItsCount) {
    const Variables torchrun{{"TORCHELASTIC_RUN_ID", "a b"}, {"TORCHELASTIC_RESTART_COUNT", "2"}};
    EXPECT_EQ(identity(torchrun).id, "torchrun-a_b");
    EXPECT_EQ(identity(torchrun).rerun, Rerun::when_none_lives);
    EXPECT_EQ(identity({{"TORCHELASTIC_RUN_ID", "none"}}).id, "");
}

TEST(RunIdentity, IsSlurmsJobAndStepAndRestart) {
    EXPECT_EQ(identity({{"SLURM_JOB_ID", "77"}}).id, "slurm-77");
    EXPECT_EQ(
        identity({{"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "3"}, {"SLURM_RESTART_COUNT", "1"}}).id,
        "slurm-77.3.restart-1");
}

TEST(RunIdentity, NeverChangesForWhoAsksToResume) {
    EXPECT_EQ(identity({{"SLURM_JOB_ID", "77"}}, nullptr, true).rerun, Rerun::never);
    EXPECT_EQ(identity({}, nullptr, true).rerun, Rerun::never);
}

TEST(RunIdentity, IsRefusedIfItCannotBeOne) {
    const Environment none = [](const char*) -> const char* { return nullptr; };
    for (const std::string& wrong : {std::string(), std::string("a b"), std::string(64, 'x')}) {
        const auto refused = run_identity(wrong.c_str(), false, none);
        ASSERT_FALSE(refused) << wrong;
        EXPECT_NE(refused.error().message.find("options->run"), std::string::npos);
    }
}

TEST(RunIdentity, OfALauncherIsMadeToFit) {
    EXPECT_EQ(identity({{"TORCHELASTIC_RUN_ID", std::string(100, 'x')}}).id, std::string(63, 'x'));
}

}  // namespace
}  // namespace pace::client
