#include "service/pacectl/recordings/cluster_recordings.h"

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

// A node with `written` records of which it gives ten at a time.
struct Node {
    uint64_t written = 0;
    int asked = 0;

    AskForPart ask() {
        return [this](const std::string& /*node*/, uint64_t from) -> base::Result<Json> {
            ++asked;
            const uint64_t first = std::min(from, written);
            const uint64_t next = std::min(first + 10, written);
            Json rows = Json::array();
            for (uint64_t i = first; i < next; ++i) rows.push_back(Json::array({i}));
            return Json{{"recording", 1U}, {"node", "b"},  {"written", written},
                        {"first", first},  {"next", next}, {"rows", rows}};
        };
    }
};

TEST(ClusterRecordings, PartsBecomeOneRecording) {
    Node node{.written = 35};
    const auto whole = recording_of("b", 1000, node.ask());
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ((*whole)["rows"].size(), 35U);
    EXPECT_EQ((*whole)["rows"][34][0], 34);
    EXPECT_FALSE(whole->contains("next"));
}

TEST(ClusterRecordings, TheNewestAreTakenWhereAllAreTooMany) {
    Node node{.written = 35};
    const auto whole = recording_of("b", 12, node.ask());
    ASSERT_TRUE(whole);
    EXPECT_EQ((*whole)["rows"].size(), 12U);
    EXPECT_EQ((*whole)["rows"][0][0], 23);
}

TEST(ClusterRecordings, ANodeThatWritesForEverDoesNotHoldUsForEver) {
    Node node{.written = 10};
    const auto whole = recording_of("b", 1'000'000, [&](const std::string& name, uint64_t from) {
        node.written += 10;
        return node.ask()(name, from);
    });
    ASSERT_TRUE(whole);
    EXPECT_LT(node.asked, 1000);
}

TEST(ClusterRecordings, NonsenseIsToldAndNoProgressEndsIt) {
    const auto nonsense =
        recording_of("b", 10, [](const std::string&, uint64_t) -> base::Result<Json> {
            return Json{{"rows", 3}};
        });
    ASSERT_FALSE(nonsense);
    EXPECT_EQ(nonsense.error().kind, base::ErrorKind::corrupt);
    const auto stuck =
        recording_of("b", 10, [](const std::string&, uint64_t from) -> base::Result<Json> {
            return Json{{"recording", 1U},
                        {"written", 100U},
                        {"next", std::min<uint64_t>(from, 100)},
                        {"rows", Json::array({1})}};
        });
    ASSERT_TRUE(stuck);
    EXPECT_TRUE((*stuck)["rows"].empty());
}

TEST(ClusterRecordings, OnlyNodesThatAreAliveAreAsked) {
    const Json status = {{"nodes",
                          {{{"name", "a"}, {"status", "alive"}},
                           {{"name", "b"}, {"status", "gone"}},
                           {{"name", "c"}, {"status", "alive"}}}}};
    EXPECT_EQ(nodes_alive(status), (std::vector<std::string>{"a", "c"}));
}

}  // namespace
}  // namespace pace::pacectl
