#include "service/controller/core/options/communication_graph.h"

#include <gtest/gtest.h>

#include "service/controller/core/options/job_options.h"

namespace pace::controller {
namespace {

using Edges = std::vector<uint32_t>;

JobOptions pairs_on(Edges edges, uint32_t world = 4) {
    JobOptions options;
    options.name = "test";
    options.world = world;
    options.policy = Policy::ad_psgd;
    options.edges = std::move(edges);
    return options;
}

std::string error_of(const JobOptions& options) {
    const auto checked = check(options);
    return checked ? "" : checked.error().message;
}

TEST(CommunicationGraph, IsTheSameHoweverItIsWritten) {
    const auto checked = check(pairs_on({2, 1, 0, 1, 3, 2, 1, 2, 1, 0}));
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_EQ(checked->edges, (Edges{0, 1, 1, 2, 2, 3}));
    EXPECT_EQ(checked->group_size, 2U);
    EXPECT_EQ(*check(*checked), *checked);
}

TEST(CommunicationGraph, MayBeLeftOut) {
    const auto checked = check(pairs_on({}));
    ASSERT_TRUE(checked);
    EXPECT_TRUE(checked->edges.empty());
}

TEST(CommunicationGraph, IsOfAdPsgdAlone) {
    for (const Policy policy :
         {Policy::all_reduce, Policy::partial_reduce, Policy::prague_random, Policy::prague_smart,
          Policy::full, Policy::prague_static, Policy::automatic}) {
        JobOptions options = pairs_on({0, 1, 1, 2, 2, 3});
        options.policy = policy;
        const std::string error = error_of(options);
        EXPECT_NE(error.find("group.edges is given, but it counts with policy ad-psgd alone"),
                  std::string::npos)
            << error;
        EXPECT_NE(error.find("leave it out or use policy ad-psgd"), std::string::npos) << error;
    }
}

TEST(CommunicationGraph, SaysWhatIsWrongWithIt) {
    EXPECT_EQ(error_of(pairs_on({0, 1, 2})),
              "group.edges has 12 bytes; give pairs of ranks, at most 4096, as two 32-bit numbers "
              "each, the least byte first, or leave it out");
    EXPECT_EQ(
        error_of(pairs_on({0, 1, 1, 4})),
        "group.edges have 1-4, but the ranks of a world of 4 are 0 to 3; give edges between those");
    EXPECT_EQ(error_of(pairs_on({0, 1, 2, 2})),
              "group.edges have 2-2, from a worker to itself; leave it out");
    EXPECT_EQ(error_of(pairs_on(Edges(2 * 4097, 1))),
              "group.edges has 32776 bytes; give pairs of ranks, at most 4096, as two 32-bit "
              "numbers each, the least byte first, or leave it out");
    EXPECT_EQ(error_of(pairs_on({0, 1, 1, 2})),
              "group.edges leave worker 3 unconnected with worker 0; add an edge between them");
    EXPECT_EQ(
        error_of(pairs_on({1, 2, 3, 4}, 6)),
        "group.edges leave worker 1 (and 4 more) unconnected with worker 0; add an edge between "
        "them");
    EXPECT_NE(error_of(pairs_on({0, 1}, 4098)).find("4096, the most, cannot join a world of 4098"),
              std::string::npos);
}

TEST(CommunicationGraph, OfAWholeTreeOfTheMostEdgesIsTaken) {
    Edges edges;
    for (uint32_t rank = 1; rank <= 4096; ++rank) edges.insert(edges.end(), {rank / 2, rank});
    const auto checked = check_edges(edges, 4097);
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_EQ(checked->size(), edges.size());
}

TEST(CommunicationGraph, SaysWhereItDiffersFromTheJobs) {
    const JobOptions ring = *check(pairs_on({0, 1, 1, 2, 2, 3, 3, 0}));
    const JobOptions line = *check(pairs_on({0, 1, 1, 2, 2, 3}));
    const JobOptions star = *check(pairs_on({0, 1, 0, 2, 0, 3}));
    EXPECT_EQ(differences(line, line), "");
    EXPECT_EQ(differences(ring, line), "group.edges 0-3 too");
    EXPECT_EQ(differences(line, ring), "group.edges not 0-3");
    EXPECT_EQ(differences(star, line), "group.edges 0-2 0-3 too, not 1-2 2-3");
    EXPECT_EQ(differences(*check(pairs_on({})), ring), "group.edges not 0-1 0-3 1-2 and 1 more");
}

}  // namespace
}  // namespace pace::controller
