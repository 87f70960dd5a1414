#include "service/controller/core/journal/journal_record.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

JobOptions compressing() {
    JobOptions collective = reducing(9);
    collective.resync_every = 1000;
    collective.compression = Compression::spardl;
    collective.density = 0.125;
    collective.residuals = Residuals::partial;
    collective.teams = 3;
    collective.team_gather = TeamGather::recursive;
    collective.indices = Indices::plain;
    collective.values = Values::bf16;
    collective.hierarchy = Hierarchy::flat;
    collective.dense_fallback = DenseFallback::never;
    collective.reject_nonfinite = true;
    return collective;
}

std::vector<JournalRecord> samples() {
    JobOptions options = averaging(9, 4);
    options.alpha = 0.9;
    options.weights = Weights::dynamic;
    options.missing = Missing::initial;
    options.group_min = 3;
    options.group_wait_ms = 12;
    options.history_window = 99;
    options.worker_timeout_ms = 12345;
    JobOptions partial = reducing(9);
    partial.quorum = Quorum::count;
    partial.quorum_count = 5;
    partial.late = Late::drop;
    partial.staleness_max = 7;
    partial.divide_by = DivideBy::contributors;
    JobOptions smart = averaging(9, 3);
    smart.policy = Policy::prague_smart;
    smart.progress_gap = 6;
    JobOptions pairs = averaging(4, 2);
    pairs.policy = Policy::ad_psgd;
    pairs.edges = {0, 1, 1, 2, 2, 3};
    return {NodeRecord{7, "node-7"},
            JobRecord{3, 1000, 0xFEDCBA9876543210U, options},
            RunRecord{3, {"run", 12}, 11},
            NewTokenRecord{3},
            AnewRecord{3, 17},
            DrainRecord{7, true},
            JobEndRecord{3},
            EpochRecord{3, uint64_t{1} << 40U},
            PlacementRecord{3, 65535, 7, Placement::lost},
            JobRecord{4, 1000, 5, compressing()},
            JobRecord{5, 1000, 6, smart},
            JobRecord{6, 1000, 7, pairs},
            JobRecord{7, 1000, 8, partial}};
}

TEST(JournalRecord, ComesBackAsItWasWritten) {
    for (const JournalRecord& record : samples()) {
        const auto decoded = decode(encode(record));
        ASSERT_TRUE(decoded);
        EXPECT_EQ(*decoded, record);
    }
}

TEST(JournalRecord, IsRefusedWhenTruncatedAtAnyByteOrTooLong) {
    for (const JournalRecord& record : samples()) {
        std::vector<std::byte> bytes = encode(record);
        for (size_t size = 0; size < bytes.size(); ++size) {
            EXPECT_FALSE(decode(std::span(bytes).first(size))) << size;
        }
        bytes.push_back(std::byte{0});
        EXPECT_EQ(decode(bytes).error().kind, base::ErrorKind::corrupt);
    }
}

TEST(JournalRecord, OfAnotherVersionIsNamedAsSuch) {
    std::vector<std::byte> bytes = encode(samples().front());
    bytes[0] = std::byte{kJournalVersion + 1};
    EXPECT_EQ(decode(bytes).error().kind, base::ErrorKind::version);
}

// A later Pace may have changed the names of its options.
TEST(JournalRecord, OfAnEarlierVersionIsNamedAsSuch) {
    std::vector<std::byte> bytes = encode(samples().front());
    bytes[0] = std::byte{6};
    const auto decoded = decode(bytes);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().kind, base::ErrorKind::version);
    EXPECT_NE(decoded.error().message.find("move it away"), std::string::npos);
}

TEST(JournalRecord, OfAServerJobKeepsItsModel) {
    JobRecord job{1, 1000, 7, {}};
    job.options.name = "served";
    job.options.world = 3;
    job.options.policy = Policy::ssp;
    job.options.staleness = 10;
    job.options.elements = uint64_t{1} << 33U;
    job.options.rate = Rate::constant;
    job.options.constant_rate = 0.25;
    job.options.filter = 0;
    job.options.shards = 16;
    job.options.checkpoint_every_ms = 1000;
    job.options.checkpoint_copies = 1;
    job.options.restore = true;
    job.options.unsynchronized = true;
    job.options.missing = Missing::closest;
    job.options.weights = Weights::constant;
    job.options.quorum = Quorum::all;
    const auto decoded = decode(encode(job));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(std::get<JobRecord>(*decoded), job);
}

TEST(JournalRecord, SurvivesHostileBytes) {
    const auto all = samples();
    base::Random random(1);
    Core core(CoreOptions{}, [] { return uint64_t{1}; });
    for (int round = 0; round < 20000; ++round) {
        std::vector<std::byte> bytes = encode(all[random.below(all.size())]);
        for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
            bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
        }
        const auto decoded = decode(bytes);
        if (decoded) {
            EXPECT_EQ(*decode(encode(*decoded)), *decoded);
        }
        // A journal may hold any of these, and the core must not crash.
        if (round < 300) static_cast<void>(core.replay(bytes));
    }
    core.replay_finished(TimePoint{});
}

}  // namespace
}  // namespace pace::controller
