// Why calls of workers are not taken, and for how long.
#include "daemon/families/serving/standings.h"

#include <string>

#include "daemon/members/node_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;

class StandingsTest : public NodeFixture {
  protected:
    bool takes_calls() const { return standings_.refusal(*worker_) == nullptr; }
    // The outcome of a pull that is ended at once; none: it is not.
    std::optional<Outcome> refused_pull(bool ahead) const {
        const auto ending = standings_.pull_refusal(*worker_, ahead);
        return ending ? std::optional(ending->outcome) : std::nullopt;
    }

    const WorkerPtr worker_ = add_worker(1);
    ShardHost host_{4, false, job_.payer(), {}};
    Standings standings_{job_, host_};
};

TEST_F(StandingsTest, HaveNoViewBeforeNodesKeepTheModel) {
    job_.view.epoch = 1;
    EXPECT_FALSE(standings_.has_view());
    control::CommitView view;
    view.shards = {kOther};
    view.generation = 3;
    view.model_begins = true;
    ASSERT_TRUE(host_.commit(view, kSelf));
    EXPECT_TRUE(standings_.has_view());
    job_.view.epoch = 0;
    EXPECT_FALSE(standings_.has_view()) << "the view is void";
}

TEST_F(StandingsTest, OfANewcomerRefuseItsCalls) {
    EXPECT_TRUE(takes_calls());
    worker_->newcomer = true;
    EXPECT_FALSE(takes_calls());
}

TEST_F(StandingsTest, OfALostModelRefuseAllCallsUntilThereIsAnother) {
    standings_.set_lost(true);
    EXPECT_EQ(standings_.refusal(*worker_), std::string(Standings::kLost));
    EXPECT_EQ(refused_pull(false), Outcome::stale);
    standings_.all_got_model();
    EXPECT_FALSE(standings_.is_lost());
    EXPECT_TRUE(takes_calls());
    EXPECT_FALSE(refused_pull(false));
}

TEST_F(StandingsTest, OfARestoredModelRefusePushesAndPullsForLaterStepsUntilItIsAskedFor) {
    standings_.roll_back(1);
    EXPECT_EQ(standings_.refusal(*worker_), std::string(Standings::kRestored));
    EXPECT_EQ(refused_pull(true), Outcome::stale);
    EXPECT_FALSE(refused_pull(false));
    standings_.asked(1);
    EXPECT_TRUE(takes_calls());
}

// Everybody is to broadcast it anew anyway.
TEST_F(StandingsTest, OfALostModelForgetThatItWasRestored) {
    standings_.roll_back(1);
    standings_.set_lost(true);
    standings_.set_lost(false);
    EXPECT_TRUE(takes_calls());
}

TEST_F(StandingsTest, OfAnEarlierJobRefuseCallsUntilTheWorkerHasAModelOfThisJob) {
    standings_.came_again(1);
    EXPECT_FALSE(takes_calls());
    EXPECT_EQ(refused_pull(true), Outcome::stale);
    EXPECT_FALSE(refused_pull(false));
    standings_.got_model(1);
    EXPECT_TRUE(takes_calls());
    standings_.came_again(1);
    standings_.all_got_model();
    EXPECT_TRUE(takes_calls());
}

TEST_F(StandingsTest, WithoutRoomForAShardFailPulls) {
    standings_.set_no_room(base::make_error(base::ErrorKind::limit, "full"));
    EXPECT_EQ(refused_pull(false), Outcome::failed);
    standings_.reset_no_room();
    EXPECT_FALSE(refused_pull(false));
}

TEST_F(StandingsTest, OfAWorkerAreForgottenWithIt) {
    standings_.roll_back(1);
    standings_.came_again(1);
    standings_.forget(1);
    EXPECT_TRUE(takes_calls());
}

}  // namespace
}  // namespace pace::daemon
