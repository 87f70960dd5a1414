#include "capi/options.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace pace::capi {
namespace {

using base::ErrorKind;
// As a daemon reads them.
base::Result<protocol::JobOptions> read(const pace_job_options& options) {
    PACE_TRY_ASSIGN(asked, job_options_of(options));
    return protocol::read_options(asked);
}

constexpr StructName kName{"job", "PACE_JOB_OPTIONS_INIT"};

pace_job_options valid() {
    pace_job_options options = PACE_JOB_OPTIONS_INIT;
    options.name = "fashion";
    options.world = 8;
    return options;
}

TEST(ReadOptions, ANewerCallersStructIsReadIfItsUnknownTailIsZero) {
    struct Newer {
        pace_job_options known;
        uint64_t unknown;
    };
    Newer newer{valid(), 0};
    newer.known.struct_size = sizeof(newer);
    EXPECT_TRUE(read_options(&newer.known, kName));
    newer.unknown = uint64_t{1} << 63U;
    auto refused = read_options(&newer.known, kName);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
    EXPECT_NE(refused.error().message.find("does not know"), std::string::npos);
}

TEST(ReadOptions, AnOlderCallersStructEndsInDefaultsAndIsNotReadPastItsEnd) {
    // Exactly as many bytes as the caller has: a sanitizer sees any more.
    const size_t size = offsetof(pace_job_options, group_wait_ms);
    pace_job_options full = valid();
    full.struct_size = static_cast<uint32_t>(size);
    full.group_wait_ms = 9;
    const std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
    std::memcpy(bytes.get(), &full, size);
    auto options = read_options(reinterpret_cast<const pace_job_options*>(bytes.get()), kName);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->world, 8U);
    EXPECT_EQ(options->group_wait_ms, 0U);
}

TEST(ReadOptions, ASizeThatNoMacroSetNamesTheMacro) {
    for (const uint32_t size : {0U, 1U, 3U, 4097U, std::numeric_limits<uint32_t>::max()}) {
        pace_job_options options = valid();
        options.struct_size = size;
        auto refused = read_options(&options, kName);
        ASSERT_FALSE(refused) << size;
        EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
        EXPECT_NE(refused.error().message.find("PACE_JOB_OPTIONS_INIT"), std::string::npos);
    }
}

TEST(JobOptions, DefaultsAreThoseOfTheHeader) {
    auto job = read(valid());
    ASSERT_TRUE(job);
    EXPECT_EQ(job->policy, protocol::Policy::partial_reduce);
    EXPECT_EQ(job->weights, protocol::Weights::constant);
    EXPECT_EQ(job->missing, protocol::Missing::closest);
    EXPECT_EQ(job->alpha, 0.5);
    EXPECT_EQ(job->quorum, protocol::Quorum::all);
    EXPECT_EQ(job->late, protocol::Late::accumulate);
    EXPECT_EQ(job->divide_by, protocol::DivideBy::world);
    EXPECT_EQ(job->compression, protocol::Compression::off);
    EXPECT_EQ(job->residuals, protocol::Residuals::global);
    EXPECT_EQ(job->team_gather, protocol::TeamGather::automatic);
    EXPECT_EQ(job->indices, protocol::Indices::compressed);
    EXPECT_EQ(job->values, protocol::Values::f32);
    EXPECT_EQ(job->hierarchy, protocol::Hierarchy::node);
    EXPECT_EQ(job->dense_fallback, protocol::DenseFallback::automatic);
    EXPECT_EQ(job->density, 0.01);
    EXPECT_FALSE(job->reject_nonfinite);
    pace_job_options zero = valid();
    zero.weights = PACE_WEIGHTS_DYNAMIC;
    zero.has_alpha = 1;
    EXPECT_EQ(read(zero)->alpha, 0.0);
}

TEST(JobOptions, OfGradientsArriveAsThemselves) {
    pace_job_options options = valid();
    options.policy = PACE_POLICY_ALL_REDUCE;
    options.resync_every = 100;
    options.compression = PACE_COMPRESSION_SPARDL;
    options.residuals = PACE_RESIDUALS_PARTIAL;
    options.density = 0.25;
    options.teams = 2;
    options.team_gather = PACE_TEAM_GATHER_RECURSIVE;
    options.indices = PACE_INDICES_PLAIN;
    options.values = PACE_VALUES_BF16;
    options.hierarchy = PACE_HIERARCHY_FLAT;
    options.dense_fallback = PACE_DENSE_FALLBACK_NEVER;
    options.reject_nonfinite = 1;
    const auto job = read(options);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->resync_every, 100U);
    EXPECT_EQ(job->compression, protocol::Compression::spardl);
    EXPECT_EQ(job->residuals, protocol::Residuals::partial);
    EXPECT_EQ(job->density, 0.25);
    EXPECT_EQ(job->teams, 2U);
    EXPECT_EQ(job->team_gather, protocol::TeamGather::recursive);
    EXPECT_EQ(job->indices, protocol::Indices::plain);
    EXPECT_EQ(job->values, protocol::Values::bf16);
    EXPECT_EQ(job->hierarchy, protocol::Hierarchy::flat);
    EXPECT_EQ(job->dense_fallback, protocol::DenseFallback::never);
    EXPECT_TRUE(job->reject_nonfinite);
}

// As compiled with the header of before there were options of gradients.
TEST(JobOptions, OfACallerWithoutThoseOfGradientsAreTheirDefaults) {
    pace_job_options options = valid();
    options.struct_size = offsetof(pace_job_options, quorum);
    options.quorum = PACE_QUORUM_SOLO;  // not the caller's: past its end
    const auto taken = read_options(&options, kName);
    ASSERT_TRUE(taken);
    EXPECT_EQ(read(*taken)->quorum, protocol::Quorum::all);
}

TEST(JobOptions, EachBadFieldIsNamed) {
    struct Row {
        const char* word;
        void (*spoil)(pace_job_options&);
    };
    static const std::string long_name(64, 'x');
    const Row rows[] = {
        {"name", [](pace_job_options& o) { o.name = nullptr; }},
        {"name", [](pace_job_options& o) { o.name = ""; }},
        {"name", [](pace_job_options& o) { o.name = "a b"; }},
        {"name", [](pace_job_options& o) { o.name = long_name.c_str(); }},
        {"world", [](pace_job_options& o) { o.world = 0; }},
        {"world", [](pace_job_options& o) { o.world = 65537; }},
        {"policy", [](pace_job_options& o) { o.policy = PACE_POLICY_ASP + 1; }},
        {"policy", [](pace_job_options& o) { o.policy = -1; }},
        {"weights", [](pace_job_options& o) { o.weights = 3; }},
        {"missing", [](pace_job_options& o) { o.missing = 3; }},
        {"quorum is 6; use one of PACE_QUORUM_ALL", [](pace_job_options& o) { o.quorum = 6; }},
        {"late is 3", [](pace_job_options& o) { o.late = 3; }},
        {"divide_by is -1", [](pace_job_options& o) { o.divide_by = -1; }},
        {"compression is 9", [](pace_job_options& o) { o.compression = 9; }},
        {"residuals is 4", [](pace_job_options& o) { o.residuals = 4; }},
        {"team_gather is 4", [](pace_job_options& o) { o.team_gather = 4; }},
        {"indices is 3", [](pace_job_options& o) { o.indices = 3; }},
        {"values is 4", [](pace_job_options& o) { o.values = 4; }},
        {"hierarchy is 3", [](pace_job_options& o) { o.hierarchy = 3; }},
        {"dense_fallback is 3", [](pace_job_options& o) { o.dense_fallback = 3; }},
        {"reject_nonfinite is 2", [](pace_job_options& o) { o.reject_nonfinite = 2; }},
        {"density is 1.5", [](pace_job_options& o) { o.density = 1.5; }},
        {"density is nan",
         [](pace_job_options& o) { o.density = std::numeric_limits<double>::quiet_NaN(); }},
        {"has_alpha", [](pace_job_options& o) { o.has_alpha = 2; }},
        {"has_alpha", [](pace_job_options& o) { o.alpha = 0.25; }},
        {"alpha",
         [](pace_job_options& o) {
             o.has_alpha = 1;
             o.alpha = -1.0;
         }},
        {"reserved", [](pace_job_options& o) { o.reserved = 1; }},
        {"alpha",
         [](pace_job_options& o) {
             o.has_alpha = 1;
             o.alpha = 1.0;
         }},
        {"alpha",
         [](pace_job_options& o) {
             o.has_alpha = 1;
             o.alpha = std::numeric_limits<double>::quiet_NaN();
         }},
    };
    for (const Row& row : rows) {
        pace_job_options options = valid();
        row.spoil(options);
        auto refused = job_options_of(options);
        ASSERT_FALSE(refused) << row.word;
        EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
        EXPECT_NE(refused.error().message.find(row.word), std::string::npos)
            << refused.error().message;
    }
}

}  // namespace
}  // namespace pace::capi
