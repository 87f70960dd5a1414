#include "daemon/control/doubt.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

class DoubtTest : public testing::Test {
  protected:
    DoubtTest() { doubt_.expect(at(200), milliseconds(100)); }

    static base::TimePoint at(int ms) { return base::TimePoint{} + milliseconds(1000 + ms); }
    // Runs the loop too late.
    void stand_still() {
        doubt_.look(at(1000));
        doubt_.expect(at(1200), milliseconds(100));
    }
    bool is_sure() const { return !doubt_.is_at(at(1001)); }

    Doubt doubt_;
};

TEST_F(DoubtTest, WhoComesByInTimeIsSure) {
    EXPECT_FALSE(doubt_.is_at(at(300)));
    doubt_.look(at(300));
    doubt_.expect(at(500), milliseconds(100));
    EXPECT_FALSE(doubt_.is_at(at(550)));
    EXPECT_FALSE(doubt_.has_to_ask());
}

TEST_F(DoubtTest, WhoShouldHaveComeByIsInDoubtBeforeItDoes) {
    EXPECT_TRUE(doubt_.is_at(at(301)));
    EXPECT_FALSE(doubt_.has_to_ask()) << "when it does";
}

TEST_F(DoubtTest, WhoExpectsNothingIsSure) {
    doubt_.rest();
    EXPECT_FALSE(doubt_.is_at(at(100'000)));
}

TEST_F(DoubtTest, EndsWithAnAnswerToWhatWasSaidSince) {
    doubt_.said(1);  // before it stood still
    stand_still();
    EXPECT_TRUE(doubt_.has_to_ask());
    doubt_.answered(1);
    EXPECT_FALSE(is_sure());
    doubt_.said(2);
    EXPECT_FALSE(doubt_.has_to_ask());
    doubt_.said(3);
    doubt_.answered(1);
    EXPECT_FALSE(is_sure());
    doubt_.answered(2);
    EXPECT_TRUE(is_sure());
}

TEST_F(DoubtTest, OutlivesTheAttachmentInWhichItWasAskedAbout) {
    stand_still();
    doubt_.said(2);
    doubt_.detached();
    doubt_.answered(2);  // still in flight
    EXPECT_FALSE(is_sure());
    EXPECT_TRUE(doubt_.has_to_ask());
    doubt_.said(3);
    doubt_.answered(3);
    EXPECT_TRUE(is_sure());
}

TEST_F(DoubtTest, LetsThoseGoOnWhoWait) {
    int went_on = 0;
    doubt_.when_sure(at(200), [&] { ++went_on; });
    EXPECT_EQ(went_on, 1) << "nothing was in doubt";
    doubt_.when_sure(at(999), [&] { ++went_on; });
    stand_still();
    doubt_.when_sure(at(1001), [&] { ++went_on; });
    doubt_.said(2);
    EXPECT_EQ(went_on, 1);
    doubt_.answered(2);
    EXPECT_EQ(went_on, 3);
    doubt_.said(3);
    doubt_.answered(3);
    EXPECT_EQ(went_on, 3);
}

}  // namespace
}  // namespace pace::daemon
