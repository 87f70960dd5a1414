#include "daemon/recorder/recorder.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitized.h"

namespace pace::daemon {
namespace {

std::vector<Record> records_of(const Recorder& recorder) {
    std::vector<Record> records;
    recorder.for_each([&records](const Record& record) { records.push_back(record); });
    return records;
}

TEST(Recorder, KeepsTheLastRecordsInTheirOrder) {
    Recorder recorder;
    EXPECT_TRUE(records_of(recorder).empty());
    for (uint64_t i = 0; i < Recorder::kRecords + 5; ++i)
        recorder.note({.kind = RecordKind::call_begins, .number = i});
    const auto records = records_of(recorder);
    ASSERT_EQ(records.size(), Recorder::kRecords);
    EXPECT_EQ(recorder.written(), Recorder::kRecords + 5);
    for (size_t i = 0; i < records.size(); ++i) {
        ASSERT_EQ(records[i].number, i + 5);
        ASSERT_GE(records[i].at_ns, records[std::max<size_t>(i, 1) - 1].at_ns);
    }
}

TEST(Recorder, MembersGoOverSeveralRecordsAndAreBounded) {
    Recorder recorder;
    std::vector<uint32_t> ranks(10);
    std::iota(ranks.begin(), ranks.end(), 0);
    recorder.note({.kind = RecordKind::group_ordered, .number = 7}, ranks);
    recorder.note({.kind = RecordKind::view_committed}, std::vector<uint32_t>());
    const auto records = records_of(recorder);
    ASSERT_EQ(records.size(), 4U);
    EXPECT_EQ(records[0].kind, RecordKind::group_ordered);
    EXPECT_EQ(records[0].members, 10U);
    EXPECT_EQ(records[2].kind, RecordKind::more_members);
    EXPECT_EQ(records[2].members_here, 2U);
    EXPECT_EQ(records[2].first[1], 9U);
    EXPECT_EQ(records[3].members_here, 0U);
    ranks.resize(100'000);
    recorder.note({.kind = RecordKind::group_ordered}, ranks);
    EXPECT_EQ(recorder.written(), 4 + Recorder::kMembersMax / Record::kMembers);
    EXPECT_EQ(records_of(recorder)[4].members, 100'000U);
}

TEST(Recorder, KeepsTheNewestNames) {
    Recorder recorder;
    for (uint32_t i = 0; i < Recorder::kNamesMax + 3; ++i) recorder.name_job(i, "job");
    recorder.name_node(3, "first");
    recorder.name_node(3, "second");
    EXPECT_EQ(recorder.jobs().size(), Recorder::kNamesMax);
    EXPECT_EQ(recorder.jobs().begin()->first, 3U);
    EXPECT_EQ(recorder.nodes().at(3), "second");
}

TEST(Recorder, ReadsAnExchangesWords) {
    const auto read = [](std::string_view words) {
        const Record record = exchange_record(RecordKind::exchange_begins, 4, words);
        return std::pair(static_cast<ExchangeWord>(record.detail), record.number);
    };
    EXPECT_EQ(read("round 12"), std::pair(ExchangeWord::round, uint64_t{12}));
    EXPECT_EQ(read("group 9223372036854775807"),
              std::pair(ExchangeWord::group, uint64_t{9223372036854775807}));
    EXPECT_EQ(read("the result of round 3"), std::pair(ExchangeWord::other, uint64_t{3}));
    EXPECT_EQ(read(""), std::pair(ExchangeWord::other, uint64_t{0}));
}

TEST(Recorder, EveryKindHasANameOfItsOwn) {
    std::set<std::string_view> names;
    const auto last = static_cast<uint8_t>(RecordKind::loop_stood_still);
    for (uint8_t kind = 0; kind <= last; ++kind)
        names.insert(name_of(static_cast<RecordKind>(kind)));
    EXPECT_EQ(names.size(), last + size_t{1});
}

// The bound holds for an idle machine, where reading the clock takes most of the time. On a busy
// machine the best of many short attempts comes near to that.
TEST(Recorder, ARecordTakesLessThanAHundredNanoseconds) {
    if (base::kSanitized) GTEST_SKIP() << "a sanitizer takes its own time";
    Recorder recorder;
    constexpr uint64_t kTimes = 5'000;
    double best_ns = 1e9;
    for (int attempt = 0; attempt < 200; ++attempt) {
        const uint64_t began = base::now_ns();
        for (uint64_t i = 0; i < kTimes; ++i)
            recorder.note({.kind = RecordKind::call_begins, .job = 1, .rank = 2, .number = i});
        best_ns = std::min(best_ns, static_cast<double>(base::now_ns() - began) / kTimes);
    }
    RecordProperty("nanoseconds", std::to_string(best_ns));
    std::printf("%.1f ns a record\n", best_ns);
    EXPECT_LT(best_ns, 100);
}

}  // namespace
}  // namespace pace::daemon
