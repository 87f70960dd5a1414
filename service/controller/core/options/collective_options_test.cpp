#include "service/controller/core/options/collective_options.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "service/controller/core/options/job_options.h"
#include "service/controller/core/tests/core_fixture.h"
#include "service/controller/vocabulary/options.h"

namespace pace::controller {
namespace {

JobOptions sparse(uint32_t world, Compression compression = Compression::spardl) {
    JobOptions options = reducing(world);
    options.compression = compression;
    return options;
}

JobOptions partial(uint32_t world, Quorum quorum = Quorum::majority) {
    JobOptions options = reducing(world);
    options.quorum = quorum;
    if (quorum == Quorum::count) options.quorum_count = 1;
    return options;
}

constexpr Quorum kQuorums[] = {Quorum::solo, Quorum::majority, Quorum::majority_strict,
                               Quorum::count};
constexpr Compression kTopK[] = {Compression::spardl, Compression::topka, Compression::topkdsa,
                                 Compression::gtopk, Compression::oktopk};

TEST(CollectiveOptions, AreAsBeforeUnlessSomethingIsAskedFor) {
    const JobOptions options = check(reducing(8)).value();
    EXPECT_EQ(options.quorum, Quorum::all);
    EXPECT_EQ(options.compression, Compression::off);
    EXPECT_FALSE(options.reject_nonfinite);
}

TEST(CollectiveOptions, HaveDefaultsFilledInWhereTheyMeanSomething) {
    for (const Quorum quorum : kQuorums) {
        const JobOptions options = check(partial(8, quorum)).value();
        EXPECT_EQ(options.staleness_max, 32U);
        EXPECT_EQ(options.late, Late::accumulate);
        EXPECT_EQ(options.divide_by, DivideBy::world);
        EXPECT_EQ(check(options).value(), options);
    }
    for (const Compression compression : kTopK) {
        const JobOptions options = check(sparse(8, compression)).value();
        EXPECT_EQ(options.density, 0.01);
        EXPECT_EQ(options.residuals, Residuals::global);
        EXPECT_EQ(options.indices, Indices::compressed);
        EXPECT_EQ(options.values, Values::f32);
        EXPECT_EQ(options.hierarchy, Hierarchy::node);
        EXPECT_EQ(options.dense_fallback, DenseFallback::automatic);
        EXPECT_EQ(options.teams, 0U);
        EXPECT_EQ(check(options).value(), options);
    }
}

TEST(CollectiveOptions, AreTakenAtTheirLimits) {
    JobOptions options = partial(8, Quorum::count);
    options.quorum_count = 8;
    options.staleness_max = 1;
    options.late = Late::drop;
    options.divide_by = DivideBy::contributors;
    options.resync_every = 1;
    options.reject_nonfinite = true;
    EXPECT_TRUE(check(options));
    options = sparse(8);
    options.density = 1;
    options.teams = 8;
    options.hierarchy = Hierarchy::flat;
    EXPECT_TRUE(check(options));
    options = sparse(9);
    options.density = 1e-9;
    options.teams = 2;  // may divide the nodes: their number is not known yet
    EXPECT_TRUE(check(options));
    EXPECT_TRUE(check(sparse(8, Compression::bf16)));
}

struct CollectiveRefusal {
    const char* names;  // what the message must contain
    std::function<void(JobOptions&)> spoil;
};

void expect_refused(const JobOptions& good, const std::vector<CollectiveRefusal>& refusals,
                    std::string_view advice) {
    ASSERT_TRUE(check(good));
    for (const CollectiveRefusal& refusal : refusals) {
        JobOptions options = good;
        refusal.spoil(options);
        const auto checked = check(options);
        ASSERT_FALSE(checked) << refusal.names;
        EXPECT_EQ(checked.error().kind, base::ErrorKind::invalid);
        const std::string& message = checked.error().message;
        EXPECT_NE(message.find(refusal.names), std::string::npos) << message;
        EXPECT_NE(message.find(advice), std::string::npos) << message;
    }
}

const std::vector<CollectiveRefusal> kOfLateness = {
    {"quorum.late is drop", [](JobOptions& o) { o.late = Late::drop; }},
    {"quorum.staleness_max is 4", [](JobOptions& o) { o.staleness_max = 4; }},
    {"quorum.divide_by is contributors",
     [](JobOptions& o) { o.divide_by = DivideBy::contributors; }},
};

const std::vector<CollectiveRefusal> kOfTeams = {
    {"topk.teams is 2", [](JobOptions& o) { o.teams = 2; }},
    {"topk.team_gather is bruck", [](JobOptions& o) { o.team_gather = TeamGather::bruck; }},
};

const std::vector<CollectiveRefusal> kOfTopK = {
    {"topk.density is 0.5", [](JobOptions& o) { o.density = 0.5; }},
    {"topk.residuals is local", [](JobOptions& o) { o.residuals = Residuals::local; }},
    {"topk.residuals is partial", [](JobOptions& o) { o.residuals = Residuals::partial; }},
    {"topk.indices is plain", [](JobOptions& o) { o.indices = Indices::plain; }},
    {"topk.values is f16", [](JobOptions& o) { o.values = Values::f16; }},
    {"topk.hierarchy is flat", [](JobOptions& o) { o.hierarchy = Hierarchy::flat; }},
    {"topk.dense_fallback is never",
     [](JobOptions& o) { o.dense_fallback = DenseFallback::never; }},
};

TEST(CollectiveOptions, AreRefusedForPartialReduce) {
    const std::string_view advice = "use policy all-reduce";
    const std::vector<CollectiveRefusal> others = {
        {"quorum is solo", [](JobOptions& o) { o.quorum = Quorum::solo; }},
        {"quorum.count is 1", [](JobOptions& o) { o.quorum_count = 1; }},
        {"reduce.resync_every is 9", [](JobOptions& o) { o.resync_every = 9; }},
        {"compression is f16", [](JobOptions& o) { o.compression = Compression::f16; }},
        {"reduce.reject_nonfinite is 1", [](JobOptions& o) { o.reject_nonfinite = true; }},
    };
    for (const auto& refusals : {others, kOfLateness, kOfTeams, kOfTopK})
        expect_refused(averaging(8), refusals, advice);
}

TEST(CollectiveOptions, OfLatenessNeedAQuorumThatLeavesSomebodyBehind) {
    expect_refused(reducing(8), kOfLateness, "use another quorum than all");
}

TEST(CollectiveOptions, OfTopKNeedATopKCompression) {
    expect_refused(reducing(8), kOfTopK, "use compression spardl, topka");
    expect_refused(sparse(8, Compression::f16), kOfTopK, "use compression spardl, topka");
}

TEST(CollectiveOptions, OfTeamsNeedSparDL) {
    for (const Compression compression : {Compression::off, Compression::bf16, Compression::gtopk})
        expect_refused(sparse(8, compression), kOfTeams, "use compression spardl");
}

TEST(CollectiveOptions, AQuorumCountIsGivenWithQuorumCountAndFitsTheWorld) {
    expect_refused(partial(8), {{"quorum.count is 3", [](JobOptions& o) { o.quorum_count = 3; }}},
                   "use quorum count");
    expect_refused(partial(8, Quorum::count),
                   {{"quorum.count is 0", [](JobOptions& o) { o.quorum_count = 0; }},
                    {"quorum.count is 9", [](JobOptions& o) { o.quorum_count = 9; }}},
                   "use 1 to world, which is 8");
}

TEST(CollectiveOptions, NoCompressionGoesWithAPartialQuorumYet) {
    for (const Quorum quorum : kQuorums) {
        for (const Compression compression : {Compression::f16, Compression::spardl}) {
            expect_refused(partial(8, quorum),
                           {{name_of(compression).data(),
                             [compression](JobOptions& o) { o.compression = compression; }}},
                           "not supported together yet: use quorum all or compression none");
        }
    }
}

TEST(CollectiveOptions, AreRefusedOutsideTheirRange) {
    expect_refused(sparse(8),
                   {{"topk.density is 1.5", [](JobOptions& o) { o.density = 1.5; }},
                    {"topk.density is -0.1", [](JobOptions& o) { o.density = -0.1; }},
                    {"topk.density is nan", [](JobOptions& o) { o.density = std::nan(""); }},
                    {"topk.density is inf", [](JobOptions& o) { o.density = HUGE_VAL; }}},
                   "above 0 and at most 1");
    expect_refused(sparse(8),
                   {{"topk.teams is 9", [](JobOptions& o) { o.teams = 9; }},
                    {"topk.teams is 3",
                     [](JobOptions& o) {
                         o.teams = 3;
                         o.hierarchy = Hierarchy::flat;
                     }}},
                   "to have it chosen");
    expect_refused(
        reducing(8),
        {{"quorum is '?'", [](JobOptions& o) { o.quorum = Quorum{6}; }},
         {"quorum.late is '?'", [](JobOptions& o) { o.late = Late{3}; }},
         {"quorum.divide_by is '?'", [](JobOptions& o) { o.divide_by = DivideBy{3}; }},
         {"compression is '?'", [](JobOptions& o) { o.compression = Compression{9}; }},
         {"topk.residuals is '?'", [](JobOptions& o) { o.residuals = Residuals{4}; }},
         {"topk.team_gather is '?'", [](JobOptions& o) { o.team_gather = TeamGather{4}; }},
         {"topk.indices is '?'", [](JobOptions& o) { o.indices = Indices{3}; }},
         {"topk.values is '?'", [](JobOptions& o) { o.values = Values{4}; }},
         {"topk.hierarchy is '?'", [](JobOptions& o) { o.hierarchy = Hierarchy{3}; }},
         {"topk.dense_fallback is '?'",
          [](JobOptions& o) { o.dense_fallback = DenseFallback{255}; }}},
        "; use ");
}

TEST(CollectiveOptions, AreComparedOptionByOption) {
    const JobOptions of_job = check(reducing(8)).value();
    EXPECT_EQ(differences(check(partial(8)).value(), of_job), "quorum majority (the job has all)");
    JobOptions asked = sparse(8);
    asked.teams = 2;
    asked.team_gather = TeamGather::recursive;
    asked.residuals = Residuals::local;
    asked.reject_nonfinite = true;
    EXPECT_EQ(differences(check(asked).value(), of_job),
              "reduce.reject_nonfinite 1 (the job has 0), compression spardl (the job has none)");
}

}  // namespace
}  // namespace pace::controller
