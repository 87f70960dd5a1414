#include "service/controller/core/journal_record.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "service/controller/core/core_fixture.h"

namespace pace::controller {
namespace {

std::vector<JournalRecord> samples() {
    JobOptions options = averaging(9, 4);
    options.alpha = 0.9;
    options.weights = Weights::dynamic;
    options.missing = Missing::initial;
    options.group_min = 3;
    options.group_wait_ms = 12;
    options.history_window = 99;
    options.worker_timeout_ms = 12345;
    return {NodeRecord{7, "node-7"}, JobRecord{3, 1000, 0xFEDCBA9876543210U, options},
            JobEndRecord{3}, EpochRecord{3, uint64_t{1} << 40U},
            PlacementRecord{3, 65535, 7, Placement::lost}};
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

TEST(JournalRecord, SurvivesHostileBytes) {
    base::Random random(1);
    Core core(CoreOptions{}, [] { return uint64_t{1}; });
    for (int round = 0; round < 20000; ++round) {
        std::vector<std::byte> bytes = encode(samples()[random.below(5)]);
        for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
            bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
        }
        const auto decoded = decode(bytes);
        if (decoded) {
            EXPECT_EQ(*decode(encode(*decoded)), *decoded);
        }
        // A journal may hold any of these, and the core must not fall over it.
        if (round < 300) static_cast<void>(core.replay(bytes));
    }
    core.replay_finished(TimePoint{});
}

}  // namespace
}  // namespace pace::controller
