// What is told about a round.
#include <gtest/gtest.h>

#include "daemon/partial/outcome.h"

namespace pace::partial {
namespace {

const Roster kRoster{{{0, 3}, {}, {1, 2, 7}}};
const std::vector<Snapshot> kSnapshots = {{kNothing, 2}, {}, {0, kNothing, 5}};

TEST(Outcome, ListsWhoGaveSomethingAndHowOldItWas) {
    const RoundOutcome outcome = outcome_of(kRoster, kSnapshots, DivideBy::one);
    EXPECT_EQ(outcome.contributors, (std::vector<Contributor>{{3, 2}, {1, 0}, {7, 5}}));
}

TEST(Outcome, DividesByNothingOrTheWorldOrTheContributors) {
    EXPECT_EQ(outcome_of(kRoster, kSnapshots, DivideBy::one).divisor, 1);
    EXPECT_EQ(outcome_of(kRoster, kSnapshots, DivideBy::world).divisor, 5);
    EXPECT_EQ(outcome_of(kRoster, kSnapshots, DivideBy::contributors).divisor, 3);
    const std::vector<Snapshot> nothing = {{kNothing, kNothing}, {}, Snapshot(3, kNothing)};
    EXPECT_EQ(outcome_of(kRoster, nothing, DivideBy::contributors).divisor, 1);
}

TEST(Outcome, TravelsAsSnapshots) {
    const RoundOutcome outcome = outcome_of(kRoster, kSnapshots, DivideBy::world);
    EXPECT_EQ(snapshots_of(kRoster, outcome), kSnapshots);
}

}  // namespace
}  // namespace pace::partial
