#include "service/pacectl/verbs/job_flags.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include "protocol/options/option_table.h"

namespace pace::pacectl {
namespace {

using protocol::JobOptions;

protocol::AskedOptions asked(const std::string& flags) {
    CLI::App app;
    protocol::AskedOptions job;
    add_job_flags(app, job);
    app.parse(flags);
    return job;
}

JobOptions parsed(const std::string& flags) {
    const auto options = protocol::read_options(asked(flags));
    EXPECT_TRUE(options) << options.error().message;
    return options ? *options : JobOptions{};
}

TEST(JobFlags, NotGivenAreNotAskedFor) {
    const protocol::AskedOptions job = asked("fashion --world 8 --policy full");
    EXPECT_EQ(job.name, "fashion");
    EXPECT_EQ(job.world, 8U);
    EXPECT_EQ(job.policy, "full");
    EXPECT_TRUE(job.values.empty());
    EXPECT_THROW(asked("fashion --world 8"), CLI::ParseError);
}

TEST(JobFlags, OfAQuorumArriveAsThemselves) {
    const JobOptions job = parsed(
        "fashion --world 8 --policy all-reduce --quorum count --quorum-count 5 --quorum-late drop "
        "--quorum-staleness-max 7 --quorum-divide-by contributors --reduce-resync-every 100 "
        "--reduce-reject-nonfinite");
    EXPECT_EQ(job.policy, protocol::Policy::all_reduce);
    EXPECT_EQ(job.quorum, protocol::Quorum::count);
    EXPECT_EQ(job.quorum_count, 5U);
    EXPECT_EQ(job.late, protocol::Late::drop);
    EXPECT_EQ(job.staleness_max, 7U);
    EXPECT_EQ(job.divide_by, protocol::DivideBy::contributors);
    EXPECT_EQ(job.resync_every, 100U);
    EXPECT_TRUE(job.reject_nonfinite);
}

TEST(JobFlags, OfACompressionArriveAsThemselves) {
    const JobOptions job = parsed(
        "fashion --world 8 --policy all-reduce --compression spardl --topk-density 0.125 "
        "--topk-residuals local --topk-teams 2 --topk-team-gather bruck --topk-indices plain "
        "--topk-values bf16 --topk-hierarchy flat --topk-dense-fallback never");
    EXPECT_EQ(job.compression, protocol::Compression::spardl);
    EXPECT_EQ(job.density, 0.125);
    EXPECT_EQ(job.residuals, protocol::Residuals::local);
    EXPECT_EQ(job.teams, 2U);
    EXPECT_EQ(job.team_gather, protocol::TeamGather::bruck);
    EXPECT_EQ(job.indices, protocol::Indices::plain);
    EXPECT_EQ(job.values, protocol::Values::bf16);
    EXPECT_EQ(job.hierarchy, protocol::Hierarchy::flat);
    EXPECT_EQ(job.dense_fallback, protocol::DenseFallback::never);
}

TEST(JobFlags, OfACommunicationGraphArriveAsPairsOfRanks) {
    const std::vector<uint32_t> line{0, 1, 1, 2, 2, 13};
    EXPECT_EQ(parsed("fashion --world 14 --policy ad-psgd --group-edges 0-1,1-2,2-13").edges, line);
}

void expect_refused(const std::string& flags, const std::string& words) {
    try {
        asked("fashion --world 8 --policy full " + flags);
        FAIL() << flags << " was taken";
    } catch (const CLI::ParseError& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

TEST(JobFlags, WhatIsNoneIsRefusedWithWhatIs) {
    expect_refused("--group-edges=0-x", "group.edges is '0-x'; give pairs of ranks");
    expect_refused("--quorum most", "quorum is 'most'; use all, solo, majority");
    expect_refused("--group-size three", "group.size is 'three'; give a whole number");
}

TEST(JobFlags, ThereIsOneForEveryOption) {
    CLI::App app;
    protocol::AskedOptions job;
    add_job_flags(app, job);
    // The name, the world, the policy, and CLI11's own --help.
    EXPECT_EQ(app.get_options().size(), protocol::option_table().size() + 4);
}

}  // namespace
}  // namespace pace::pacectl
