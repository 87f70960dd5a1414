#include "service/pacectl/columns/nearest.h"

#include <vector>

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

const std::vector<std::string> kCommands{"status", "daemon", "metrics", "top",    "watch",
                                         "events", "job",    "trace",   "doctor", "keygen"};

TEST(Nearest, CountsInsertionsOmissionsReplacementsAndExchanges) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("top", "top"), 0U);
    EXPECT_EQ(edit_distance("", "top"), 3U);
    EXPECT_EQ(edit_distance("statsu", "status"), 1U) << "two neighbours exchanged";
    EXPECT_EQ(edit_distance("sttus", "status"), 1U);
    EXPECT_EQ(edit_distance("stattus", "status"), 1U);
    EXPECT_EQ(edit_distance("statos", "status"), 1U);
    EXPECT_EQ(edit_distance("ca", "abc"), 3U) << "no letter is edited twice";
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsWhatIsMeant) {
    EXPECT_EQ(nearest("statsu", kCommands), "status");
    EXPECT_EQ(nearest("docter", kCommands), "doctor");
    EXPECT_EQ(nearest("evens", kCommands), "events");
    EXPECT_EQ(nearest("jbo", kCommands), "job");
    EXPECT_EQ(nearest("key", kCommands), "keygen") << "the only one that begins so";
}

TEST(Nearest, GuessesNothingThatIsFarAway) {
    EXPECT_EQ(nearest("banana", kCommands), "");
    EXPECT_EQ(nearest("", kCommands), "");
    EXPECT_EQ(nearest("t", kCommands), "") << "too short to tell";
    EXPECT_EQ(nearest(std::string(100'000, 's'), kCommands), "");
    EXPECT_EQ(nearest("status", {}), "");
    EXPECT_EQ(meant_text("banana", kCommands), "");
    EXPECT_EQ(meant_text("statsu", kCommands), "; did you mean 'status'?");
}

}  // namespace
}  // namespace pace::pacectl
