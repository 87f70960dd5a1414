#include "daemon/telemetry/recording.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/sanitized.h"
#include "protocol/control_codec.h"
#include "protocol/ring.h"
#include "protocol/types.h"

namespace pace::daemon {
namespace {

using nlohmann::json;

json document_of(const Recorder& recorder, const RecordingFacts& facts = {"n1", {}, {}}) {
    return json::parse(recording(recorder, facts));
}

// A row as an object with the names of its columns.
json row_of(const json& document, size_t index) {
    json row;
    for (size_t i = 0; i < document["columns"].size(); ++i)
        row[document["columns"][i].get<std::string>()] = document["rows"][index][i];
    return row;
}

TEST(Recording, OfNothingIsADocument) {
    const json document = document_of(Recorder());
    EXPECT_EQ(document["node"], "n1");
    EXPECT_EQ(document["recording"], 1);
    EXPECT_TRUE(document["rows"].empty());
    EXPECT_TRUE(document["clock"]["controller_offset_ns"].is_null());
    EXPECT_GT(document["clock"]["unix_ns"].get<uint64_t>(), 0U);
}

TEST(Recording, HasEachRecordInWords) {
    Recorder recorder;
    recorder.name_job(4, "fashion \"x\"\xff");
    recorder.name_run(4, 1001);
    recorder.note({.kind = RecordKind::call_begins,
                   .detail = static_cast<uint8_t>(protocol::Verb::reduce),
                   .job = 4,
                   .rank = 3,
                   .number = 7,
                   .amount = 1000});
    recorder.note({.kind = RecordKind::call_ends,
                   .detail = static_cast<uint8_t>(protocol::Outcome::failed),
                   .number = 7});
    Record ended = exchange_record(RecordKind::exchange_ends, 4, "group 9");
    ended.detail_2 = static_cast<uint8_t>(base::ErrorKind::timeout);
    recorder.note(ended);
    recorder.note({.kind = RecordKind::message_out,
                   .detail = static_cast<uint8_t>(protocol::control::Body::Heartbeat)});
    const std::vector<uint32_t> ranks{0, 1, 2, 3, 4};
    recorder.note({.kind = RecordKind::view_committed, .job = 4}, ranks);
    const json document = document_of(recorder, {"n1", ClockOffset::Reading{-5, 2}, "suspended"});
    EXPECT_EQ(document["jobs"]["4"].get<std::string>().substr(0, 11), "fashion \"x\"");
    EXPECT_EQ(document["runs"]["4"], 1001);
    EXPECT_EQ(document["clock"]["controller_offset_ns"], -5);
    EXPECT_EQ(document["reason"], "suspended");
    ASSERT_EQ(document["rows"].size(), 6U);
    const json call = row_of(document, 0);
    EXPECT_EQ(call["kind"], "call-begins");
    EXPECT_EQ(call["detail"], "reduce");
    EXPECT_EQ(call["rank"], 3);
    EXPECT_EQ(call["amount"], 1000);
    EXPECT_EQ(row_of(document, 1)["detail"], "failed");
    EXPECT_EQ(row_of(document, 2)["detail"], "group");
    EXPECT_EQ(row_of(document, 2)["number"], 9);
    EXPECT_EQ(row_of(document, 2)["failure"], "timeout");
    EXPECT_EQ(row_of(document, 3)["detail"], "Heartbeat");
    EXPECT_EQ(row_of(document, 4)["members"], json({0, 1, 2, 3}));
    EXPECT_EQ(row_of(document, 4)["of"], 5);
    EXPECT_EQ(row_of(document, 5)["members"], json({4}));
}

// The event loop runs the first step, so a full ring must not take long.
TEST(Recording, OfAFullRingBeginsWithinMilliseconds) {
    Recorder recorder;
    for (uint64_t i = 0; i < Recorder::kRecords; ++i)
        recorder.note({.kind = RecordKind::message_in,
                       .detail = 1,
                       .job = 0xFFFFFFFFU,
                       .rank = 0xFFFFFFFFU,
                       .number = UINT64_MAX - i,
                       .amount = UINT64_MAX});
    double best_ms = 1e9;
    size_t bytes = 0;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const uint64_t began = base::now_ns();
        const auto rest = begin_recording(recorder, {"n1", {}, {}});
        best_ms = std::min(best_ms, static_cast<double>(base::now_ns() - began) / 1e6);
        bytes = rest().size();
    }
    std::printf("%zu bytes in %.1f ms\n", bytes, best_ms);
    EXPECT_LT(bytes, size_t{8} << 20U);
    EXPECT_LT(best_ms, base::kSanitized ? 500 : 20);
}

}  // namespace
}  // namespace pace::daemon
