#include "service/controller/shell/status/event_ring.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

Note note(const std::string& kind, const std::string& text = "text") {
    return {.warning = false, .event = kind, .detail = text};
}

TEST(EventRing, KeepsTheOrderAndNumbersThatRise) {
    EventRing ring;
    EXPECT_EQ(ring.first(), 1U);
    ring.add(note("node-attached"), 1000);
    ring.add(note("node-lost"), 1001);
    ASSERT_EQ(ring.events().size(), 2U);
    EXPECT_EQ(ring.events()[0].number, 1U);
    EXPECT_EQ(ring.events()[1].number, 2U);
    EXPECT_EQ(ring.events()[1].at_unix_ms, 1001);
    EXPECT_EQ(ring.events()[1].note.event, "node-lost");
    EXPECT_EQ(ring.next(), 3U);
}

TEST(EventRing, ForgetsTheOldest) {
    EventRing ring;
    for (size_t i = 0; i < 3 * EventRing::kEventsMax; ++i)
        ring.add(note("kind" + std::to_string(i % 8)), 0);
    EXPECT_EQ(ring.events().size(), EventRing::kEventsMax);
    EXPECT_EQ(ring.first(), 2 * EventRing::kEventsMax + 1);
    EXPECT_EQ(ring.events().back().number, 3 * EventRing::kEventsMax);
}

TEST(EventRing, OneKindDoesNotPushOutTheOthers) {
    EventRing ring;
    ring.add(note("node-lost"), 0);
    for (int i = 0; i < 10'000; ++i) ring.add(note("group-failed"), 0);
    EXPECT_EQ(ring.events().size(), EventRing::kOfAKindMax + 1);
    EXPECT_EQ(ring.first(), 1U);
    EXPECT_EQ(ring.events().front().note.event, "node-lost");
    EXPECT_EQ(ring.events().back().number, 10'001U);
}

TEST(EventRing, IsBoundedInBytesAndCutsNoCharacter) {
    EventRing ring;
    std::string umlauts;
    while (umlauts.size() < 2000) umlauts += "\u00e4";
    const std::string odd = "x" + umlauts;
    for (size_t i = 0; i < EventRing::kEventsMax; ++i)
        ring.add(note("kind" + std::to_string(i % 8), odd), 0);
    EXPECT_LE(ring.bytes(), EventRing::kBytesMax);
    EXPECT_GT(ring.events().size(), 100U);
    EXPECT_EQ(ring.events().back().note.detail.size(), EventRing::kTextBytesMax - 1);
    EXPECT_EQ(ring.events().back().number, EventRing::kEventsMax);
}

}  // namespace
}  // namespace pace::controller
