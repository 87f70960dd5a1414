#include "service/controller/shell/dispatch/attachments.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

Attachment attachment(const char* route, uint64_t number, const char* name = "a") {
    return {.route = route,
            .number = number,
            .name = name,
            .host = "h",
            .key = {},
            .generation = 1,
            .heard = {}};
}

TEST(Attachments, BothTheNumberAndTheConnectionMustMatch) {
    Attachments table;
    table.attach(3, attachment("r1", 77));
    EXPECT_EQ(table.check(3, 77, "r1"), 3U);
    EXPECT_EQ(table.check(3, 78, "r1"), 0U);
    EXPECT_EQ(table.check(3, 77, "r2"), 0U);
    EXPECT_EQ(table.check(4, 77, "r1"), 0U);
    EXPECT_EQ(table.check(0, 0, ""), 0U);
}

TEST(Attachments, ANodeIsFoundByNameAndConnectionOnlyWhileAttached) {
    Attachments table;
    table.attach(3, attachment("r1", 77));
    EXPECT_EQ(table.find_name("a"), 3U);
    EXPECT_EQ(table.find_route("r1"), 3U);
    table.detach(3);
    EXPECT_EQ(table.find_name("a"), 0U);
    EXPECT_EQ(table.find_route("r1"), 0U);
    EXPECT_EQ(table.check(3, 77, "r1"), 0U);
    EXPECT_EQ(table.seats(), 1U);
}

TEST(Attachments, AnExclusionIsRememberedForItsAttachmentAlone) {
    Attachments table;
    table.attach(3, attachment("r1", 77));
    table.exclude(3, "silent");
    ASSERT_NE(table.excluded_because(3, 77), nullptr);
    EXPECT_EQ(*table.excluded_because(3, 77), "silent");
    EXPECT_EQ(table.excluded_because(3, 78), nullptr);
    EXPECT_EQ(table.excluded_because(3, 0), nullptr);
    table.attach(3, attachment("r2", 78));
    EXPECT_EQ(table.check(3, 78, "r2"), 3U);
    EXPECT_NE(table.excluded_because(3, 77), nullptr);
}

TEST(Attachments, ANewAttachmentReplacesTheOldConnection) {
    Attachments table;
    table.attach(3, attachment("r1", 77));
    table.attach(3, attachment("r2", 78));
    EXPECT_EQ(table.find_route("r1"), 0U);
    EXPECT_EQ(table.find_route("r2"), 3U);
    EXPECT_EQ(table.attached(), 1U);
}

}  // namespace
}  // namespace pace::controller
