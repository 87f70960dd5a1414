// A job's options of top-k, as the sparse reductions take them.
#include "daemon/families/rounds/top_k_options.h"

#include <utility>

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

TEST(TopKOptions, NameTheAlgorithmOfTheCompression) {
    using control::Compression;
    using sparse::Algorithm;
    const std::pair<Compression, Algorithm> table[] = {
        {Compression::spardl, Algorithm::spar_dl},   {Compression::topka, Algorithm::topk_a},
        {Compression::topkdsa, Algorithm::topk_dsa}, {Compression::gtopk, Algorithm::g_topk},
        {Compression::oktopk, Algorithm::ok_topk},
    };
    for (const auto& [compression, algorithm] : table) {
        control::JobOptions job;
        job.compression = compression;
        EXPECT_EQ(top_k_options(job).algorithm, algorithm) << sparse::name_of(algorithm);
    }
}

TEST(TopKOptions, SayWhatTravelsAndWhatIsKept) {
    control::JobOptions job;
    job.density = 0.25;
    job.teams = 6;
    job.indices = control::Indices::plain;
    job.values = control::Values::bf16;
    job.residuals = control::Residuals::local;
    job.team_gather = control::TeamGather::bruck;
    const sparse::Options options = top_k_options(job);
    EXPECT_EQ(options.density, 0.25);
    EXPECT_EQ(options.teams, 6U);
    EXPECT_EQ(options.format.index, sparse::IndexFormat::plain);
    EXPECT_EQ(options.format.value, sparse::ValueFormat::bf16);
    EXPECT_EQ(options.residuals, sparse::ResidualMode::local);
    EXPECT_EQ(options.gather, sparse::TeamGather::bruck);

    job.values = control::Values::f16;
    job.residuals = control::Residuals::partial;
    job.team_gather = control::TeamGather::recursive;
    EXPECT_EQ(top_k_options(job).format.value, sparse::ValueFormat::f16);
    EXPECT_EQ(top_k_options(job).residuals, sparse::ResidualMode::partial);
    EXPECT_EQ(top_k_options(job).gather, sparse::TeamGather::recursive);
}

TEST(TopKOptions, OfAJobThatSaysNothingLoseNothing) {
    const sparse::Options options = top_k_options({});
    EXPECT_EQ(options.residuals, sparse::ResidualMode::global);
    EXPECT_EQ(options.format.value, sparse::ValueFormat::f32);
    EXPECT_EQ(options.format.index, sparse::IndexFormat::elias_fano);
    EXPECT_EQ(options.gather, sparse::TeamGather::automatic);
}

struct Division {
    size_t participants;
    size_t wanted;
    sparse::TeamGather gather;
    size_t teams;
};

// Teams are of equal size, and recursive doubling needs a power of two of them.
TEST(Teams, AreAsManyAsWantedOrTheNextFewerThatFit) {
    using sparse::TeamGather;
    const Division table[] = {
        {8, 4, TeamGather::automatic, 4}, {8, 3, TeamGather::automatic, 2},
        {12, 6, TeamGather::bruck, 6},    {12, 6, TeamGather::recursive, 4},
        {12, 5, TeamGather::bruck, 4},    {9, 3, TeamGather::recursive, 1},
        {9, 3, TeamGather::automatic, 3}, {7, 4, TeamGather::automatic, 1},
        {4, 100, TeamGather::bruck, 4},   {6, 100, TeamGather::recursive, 2},
        {1, 4, TeamGather::automatic, 1}, {8, 1, TeamGather::automatic, 1},
        {8, 0, TeamGather::automatic, 1}, {0, 4, TeamGather::automatic, 1},
    };
    for (const Division& row : table)
        EXPECT_EQ(teams_for(row.participants, row.wanted, row.gather), row.teams)
            << row.participants << " participants, " << row.wanted << " teams";
}

TEST(Teams, DivideTheParticipantsWhateverTheirNumber) {
    for (size_t participants = 1; participants <= 64; ++participants) {
        for (size_t wanted = 1; wanted <= 64; ++wanted) {
            const size_t teams = teams_for(participants, wanted, sparse::TeamGather::recursive);
            EXPECT_LE(teams, wanted);
            EXPECT_EQ(participants % teams, 0U) << participants << " by " << wanted;
            EXPECT_EQ(teams & (teams - 1), 0U) << participants << " by " << wanted;
        }
    }
}

}  // namespace
}  // namespace pace::daemon
