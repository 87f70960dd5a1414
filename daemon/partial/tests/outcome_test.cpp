// Tests what is told about a round.
#include <gtest/gtest.h>

#include "daemon/partial/outcome.h"

namespace pace::partial {
namespace {

const Roster kRoster{{{0, 3}, {}, {1, 2, 7}}};
const std::vector<NodeView> kViews = {
    {9, {kNothing, 2}}, {0, {}}, {9, {0, kNothing | kWaits, 5 | kWaits}}};

TEST(Outcome, ListsWhoGaveSomethingAndHowOldItWas) {
    const RoundOutcome outcome = outcome_of(kRoster, kViews, DivideBy::one);
    EXPECT_EQ(outcome.verdict, Verdict::sum);
    EXPECT_EQ(outcome.contributors, (std::vector<Contributor>{{3, 2}, {1, 0}, {7, 5}}));
}

TEST(Outcome, DividesByNothingOrTheWorldOrTheContributors) {
    EXPECT_EQ(outcome_of(kRoster, kViews, DivideBy::one).divisor, 1);
    EXPECT_EQ(outcome_of(kRoster, kViews, DivideBy::world).divisor, 5);
    EXPECT_EQ(outcome_of(kRoster, kViews, DivideBy::contributors).divisor, 3);
    const std::vector<NodeView> nothing = {
        {9, {kNothing, kNothing}}, {0, {}}, {9, Snapshot(3, kNothing)}};
    EXPECT_EQ(outcome_of(kRoster, nothing, DivideBy::contributors).divisor, 1);
}

TEST(Outcome, TravelsAsSnapshots) {
    const RoundOutcome outcome = outcome_of(kRoster, kViews, DivideBy::world);
    EXPECT_EQ(outcome_of(kRoster, snapshots_of(kRoster, outcome), 5.0), outcome);
}

TEST(Outcome, IsForEveryoneOnlyIfAllWait) {
    std::vector<NodeView> views = {
        {0, {kNothing | kWaits, kWaits}}, {0, {}}, {0, Snapshot(3, kNothing | kWaits)}};
    EXPECT_EQ(outcome_of(kRoster, views, DivideBy::world).verdict, Verdict::everyone);
    EXPECT_TRUE(outcome_of(kRoster, views, DivideBy::world).contributors.empty());
    views[2].given[1] = kNothing;
    EXPECT_EQ(outcome_of(kRoster, views, DivideBy::world).verdict, Verdict::nothing);
    views[0].terms = 4;
    EXPECT_EQ(outcome_of(kRoster, views, DivideBy::world).verdict, Verdict::sum);
    views[2].terms = 5;
    EXPECT_EQ(outcome_of(kRoster, views, DivideBy::world).verdict, Verdict::disagree);
}

}  // namespace
}  // namespace pace::partial
