#include "daemon/telemetry/node_recordings.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pace::daemon {
namespace {

using nlohmann::json;

class NodeRecordingsTest : public testing::Test {
  protected:
    bool until(const std::function<bool()>& holds) {
        const auto deadline = base::now() + std::chrono::seconds(20);
        std::function<void()> again;
        base::Timer tick;
        again = [&] { tick = loop_->run_after(std::chrono::milliseconds(10), again); };
        again();
        while (!holds() && base::now() < deadline) loop_->turn(true);
        return holds();
    }
    void note(uint64_t records) {
        for (uint64_t i = 0; i < records; ++i)
            recorder_->note({.kind = RecordKind::peer_lost, .number = i});
    }
    json part(uint64_t from, size_t bytes_max) {
        json document;
        recordings_.make_part(from, bytes_max, [&document](const std::string& text) {
            EXPECT_FALSE(text.empty());
            document = json::parse(text);
        });
        EXPECT_TRUE(until([&] { return !document.is_null(); }));
        return document;
    }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
    NodeRecordings recordings_{
        *loop_,
        {.node = "n1",
         .recorder = recorder_,
         .self = [] { return 7U; },
         .controller_clock = [] { return std::optional<ClockOffset::Reading>(); },
         .folder = {}}};
};

TEST_F(NodeRecordingsTest, WhoeverAsksAtOnceGetsOneDocument) {
    std::vector<std::string> made;
    for (int i = 0; i < 100; ++i)
        recordings_.make([&made](const std::string& text) { made.push_back(text); });
    ASSERT_TRUE(until([&] { return made.size() == 100; }));
    EXPECT_EQ(made.front(), made.back());
    EXPECT_EQ(json::parse(made.front())["node"], "n1");
    EXPECT_EQ(json::parse(made.front())["nodes"]["7"], "n1") << "it names itself, too";
}

TEST_F(NodeRecordingsTest, PartsOneAfterTheOtherAreTheWhole) {
    note(1000);
    constexpr size_t kBytes = 8192;
    uint64_t from = 0;
    size_t rows = 0;
    int parts = 0;
    for (; from < 1000; ++parts) {
        const json document = part(from, kBytes);
        ASSERT_EQ(document["first"], from);
        ASSERT_GT(document["next"], from) << "no progress";
        ASSERT_LE(document.dump().size(), kBytes);
        rows += document["rows"].size();
        from = document["next"];
    }
    EXPECT_EQ(rows, 1000U);
    EXPECT_GT(parts, 3);
}

TEST_F(NodeRecordingsTest, APartOfWhatIsGoneBeginsWithTheOldestAndOneFromBeyondTheEndIsEmpty) {
    note(Recorder::kRecords + 10);
    EXPECT_EQ(part(0, 8192)["first"], 10U);
    const json beyond = part(UINT64_MAX, 8192);
    EXPECT_TRUE(beyond["rows"].empty());
    EXPECT_EQ(beyond["next"], beyond["written"]);
}

TEST_F(NodeRecordingsTest, NoMorePartsThanSomeAreMadeAtOnce) {
    size_t made = 0;
    for (size_t i = 0; i < 3 * NodeRecordings::kPartsMax; ++i)
        recordings_.make_part(0, 8192, [&made](const std::string& /*text*/) { ++made; });
    ASSERT_TRUE(until([&] { return made == NodeRecordings::kPartsMax; }));
    EXPECT_TRUE(part(0, 8192).is_object()) << "later ones are made again";
    EXPECT_EQ(made, NodeRecordings::kPartsMax);
}

}  // namespace
}  // namespace pace::daemon
