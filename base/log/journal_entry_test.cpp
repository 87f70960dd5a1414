#include "base/log/journal_entry.h"

#include <string>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

TEST(JournalEntry, AValueInOneLineStandsBehindAnEqualsSign) {
    JournalEntry entry;
    entry.add("MESSAGE", "a worker = lost");
    entry.add("JOB", "");
    EXPECT_EQ(entry.bytes(), "MESSAGE=a worker = lost\nJOB=\n");
}

// Without the length, a peer's name could end its field and begin another field.
TEST(JournalEntry, AValueWithALineBreakComesWithItsLength) {
    JournalEntry entry;
    entry.add("PEER", "a\nMESSAGE_ID=0");
    const std::string length("\x0e\0\0\0\0\0\0\0", 8);
    EXPECT_EQ(entry.bytes(), "PEER\n" + length + "a\nMESSAGE_ID=0\n");
}

TEST(JournalEntry, ALongValueIsCut) {
    JournalEntry entry;
    entry.add("PACE_REASON", std::string(size_t{1} << 20U, 'x'));
    EXPECT_EQ(entry.bytes().size(),
              JournalEntry::kValueBytesMax + std::string("PACE_REASON=\n").size());
    EXPECT_TRUE(entry.bytes().ends_with("x…\n"));
}

TEST(JournalEntry, WhatOperatorsAskForHasAFieldOfItsOwnAndNothingElseMeetsOneOfTheJournals) {
    EXPECT_EQ(journal_field("job"), "JOB");
    EXPECT_EQ(journal_field("peer"), "PEER");
    EXPECT_EQ(journal_field("group"), "EXCHANGE");
    EXPECT_EQ(journal_field("round"), "EXCHANGE");
    EXPECT_EQ(journal_field("message"), "PACE_MESSAGE");
    EXPECT_EQ(journal_field("silent_ms"), "PACE_SILENT_MS");
    EXPECT_EQ(journal_field("odd key-1"), "PACE_ODD_KEY_1");
    EXPECT_EQ(journal_field(std::string(100, 'k')).size(), 64U);
}

TEST(JournalSocket, NobodyIsThere) {
    const JournalSocket nowhere("/nonexistent/socket");
    JournalEntry entry;
    entry.add("MESSAGE", "hello");
    EXPECT_EQ(nowhere.send(entry), JournalSocket::Sent::absent);
    const JournalSocket unspeakable(std::string(200, 'p'));
    EXPECT_EQ(unspeakable.send(entry), JournalSocket::Sent::absent);
}

}  // namespace
}  // namespace pace::base
