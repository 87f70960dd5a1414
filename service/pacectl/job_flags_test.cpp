#include "service/pacectl/job_flags.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace pace::pacectl {
namespace {

namespace wire = protocol::client;

client::JobOptions parsed(const std::string& flags) {
    CLI::App app;
    client::JobOptions job;
    add_job_flags(app, job);
    app.parse(flags);
    return job;
}

TEST(JobFlags, NotGivenLeaveTheDefaults) {
    const client::JobOptions job = parsed("fashion --world 8");
    EXPECT_EQ(job.name, "fashion");
    EXPECT_EQ(job.world, 8U);
    EXPECT_EQ(job.policy, wire::Policy::partial_reduce);
    EXPECT_EQ(job.quorum, wire::Quorum::all);
    EXPECT_EQ(job.compression, wire::Compression::off);
    EXPECT_EQ(job.density, 0.0);
    EXPECT_FALSE(job.reject_nonfinite);
}

TEST(JobFlags, OfAQuorumArriveAsThemselves) {
    const client::JobOptions job = parsed(
        "fashion --world 8 --policy all-reduce --quorum count --quorum-count 5 --late drop "
        "--staleness-max 7 --divide-by contributors --resync-every 100 --reject-nonfinite");
    EXPECT_EQ(job.policy, wire::Policy::all_reduce);
    EXPECT_EQ(job.quorum, wire::Quorum::count);
    EXPECT_EQ(job.quorum_count, 5U);
    EXPECT_EQ(job.late, wire::Late::drop);
    EXPECT_EQ(job.staleness_max, 7U);
    EXPECT_EQ(job.divide_by, wire::DivideBy::contributors);
    EXPECT_EQ(job.resync_every, 100U);
    EXPECT_TRUE(job.reject_nonfinite);
}

TEST(JobFlags, OfACompressionArriveAsThemselves) {
    const client::JobOptions job = parsed(
        "fashion --world 8 --policy all-reduce --compression spardl --density 0.125 "
        "--residuals local --teams 2 --team-gather bruck --indices plain --values bf16 "
        "--hierarchy flat --dense-fallback never");
    EXPECT_EQ(job.compression, wire::Compression::spardl);
    EXPECT_EQ(job.density, 0.125);
    EXPECT_EQ(job.residuals, wire::Residuals::local);
    EXPECT_EQ(job.teams, 2U);
    EXPECT_EQ(job.team_gather, wire::TeamGather::bruck);
    EXPECT_EQ(job.indices, wire::Indices::plain);
    EXPECT_EQ(job.values, wire::Values::bf16);
    EXPECT_EQ(job.hierarchy, wire::Hierarchy::flat);
    EXPECT_EQ(job.dense_fallback, wire::DenseFallback::never);
}

TEST(JobFlags, OfACommunicationGraphArriveAsPairsOfRanks) {
    const std::vector<uint32_t> line{0, 1, 1, 2, 2, 13};
    const std::string start = "fashion --world 14 --policy ad-psgd ";
    EXPECT_EQ(parsed(start + "--edges 0-1,1-2,2-13").edges, line);
    EXPECT_EQ(parsed(start + "--edge 0-1 --edge 1-2 --edge 2-13").edges, line);
    EXPECT_TRUE(parsed(start).edges.empty());
    EXPECT_EQ(parsed("fashion --world 8 --policy auto").policy, wire::Policy::automatic);
}

TEST(JobFlags, AnEdgeThatIsNoneIsRefused) {
    for (const std::string edge :
         {"0", "0-", "-1", "0-x", "0-1-2", "a-1", "0--1", "4294967296-1"}) {
        try {
            parsed("fashion --world 8 --edge=" + edge);
            FAIL() << edge << " was taken";
        } catch (const CLI::ParseError& error) {
            EXPECT_NE(std::string(error.what()).find("'" + edge + "' is no edge"),
                      std::string::npos)
                << error.what();
        }
    }
}

TEST(JobFlags, AWordThatIsNoneIsRefusedWithThoseThatAre) {
    try {
        parsed("fashion --world 8 --quorum most");
        FAIL() << "was taken";
    } catch (const CLI::ParseError& error) {
        EXPECT_NE(std::string(error.what()).find("'most' is none of all, solo, majority"),
                  std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace pace::pacectl
