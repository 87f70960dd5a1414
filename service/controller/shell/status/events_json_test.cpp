#include "service/controller/shell/status/events_json.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using Json = nlohmann::json;

Json parsed(const EventRing& ring, uint64_t since) {
    return Json::parse(events_json(ring, since));
}

TEST(EventsJson, AreThoseAfterANumber) {
    EventRing ring;
    const uint64_t last = EventRing::kOfAKindMax + 2;
    for (uint64_t number = 1; number <= last; ++number)
        ring.add({false, "node-attached", std::to_string(number)}, 1000);
    const Json all = parsed(ring, 0);
    EXPECT_EQ(all["events"].size(), EventRing::kOfAKindMax);
    EXPECT_EQ(all["events_first"], 3);
    EXPECT_EQ(all["events"], parsed(ring, 2)["events"]);
    const Json later = parsed(ring, last - 1);
    EXPECT_EQ(later["events_first"], 3);
    ASSERT_EQ(later["events"].size(), 1U);
    EXPECT_EQ(later["events"][0]["number"], last);
    EXPECT_EQ(later["events"][0]["text"], std::to_string(last));
    EXPECT_TRUE(parsed(ring, last)["events"].empty());
}

TEST(EventsJson, AtFirstThereAreNone) {
    EXPECT_EQ(parsed({}, 0), Json({{"events", Json::array()}, {"events_first", 1}}));
}

TEST(EventsJson, WhatIsNotUtf8IsShownAsSuch) {
    EventRing ring;
    ring.add({false, "node-lost", "a\xff"}, 1000);
    EXPECT_EQ(parsed(ring, 0)["events"][0]["text"], "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace pace::controller
