// Two nodes on an in-memory network, of which one may be frozen, as if its connection were cut.
#include "daemon/exchange/peer_watch.h"
#include "daemon/control/absent_controller.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/gpu/gpu_groups.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kSelf = 1;
constexpr NodeId kOther = 2;
constexpr milliseconds kDeadline{400};

class PeerWatchTest : public ::testing::Test {
  protected:
    struct Told {
        NodeId node = 0;
        bool cut = false;
    };

    PeerWatchTest()
        : here_(network_.create()),
          there_(network_.create()),
          peers_(*here_),
          services_(std::make_unique<Services>(*loop_, *here_, peers_, pool_, counters_, options(),
                                               disk_, controller_, gpu_groups_)),
          watch_(
              *services_,
              {.cut =
                   [this](NodeId node, bool cut, base::Duration silent) {
                       told_.push_back({node, cut});
                       silent_ = silent;
                   },
               .lost = [this](NodeId, const std::string& reason) { losses_.push_back(reason); }}) {
        services_->self = kSelf;
        (void)peers_.know(kOther, "other", there_->address());
        EXPECT_TRUE(there_->connect(here_->address()));
        loop_->add_poller(here_.get());
        loop_->add_poller(there_.get());
    }
    ~PeerWatchTest() override {
        loop_->remove_poller(here_.get());
        loop_->remove_poller(there_.get());
    }

    static ExchangeOptions options() {
        ExchangeOptions options;
        options.progress_deadline = kDeadline;
        return options;
    }

    template <typename Condition>
    bool until(Condition condition) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (base::now() < deadline) {
            loop_->turn(false);
            if (condition()) return true;
        }
        return false;
    }
    void run_for(base::Duration time) {
        bool over = false;
        const base::Timer timer = loop_->run_after(time, [&over] { over = true; });
        EXPECT_TRUE(until([&over] { return over; }));
    }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    transports::MemoryNetwork network_;
    std::unique_ptr<transports::MemoryTransport> here_;
    std::unique_ptr<transports::MemoryTransport> there_;
    Peers peers_;
    kernels::WorkerPool pool_{0};
    Counters counters_;
    base::BackgroundThread disk_;
    AbsentController controller_;
    GpuGroups gpu_groups_{*loop_, 0};
    std::unique_ptr<Services> services_;
    PeerWatch watch_;
    std::vector<Told> told_;
    base::Duration silent_{};
    std::vector<std::string> losses_;
};

TEST_F(PeerWatchTest, ANodeThatAnswersIsNotCutHoweverLongItIsWaitedFor) {
    for (int i = 0; i < 20; ++i) {
        watch_.suspect(kOther);
        run_for(kDeadline / 10);
    }
    EXPECT_TRUE(told_.empty());
    EXPECT_TRUE(peers_.peer(kOther));
}

TEST_F(PeerWatchTest, ANodeFromWhichNothingComesIsCutUntilSomethingDoes) {
    network_.freeze(*there_);
    const auto before = peers_.peer(kOther);
    bool ended = false;
    std::byte byte{};
    here_->receive(*before, {1, 0, 0}, std::span(&byte, 1),
                   [&](const base::Result<>& result) { ended = !result; });
    watch_.suspect(kOther);
    ASSERT_TRUE(until([&] { return !told_.empty(); }));
    EXPECT_EQ(told_[0].node, kOther);
    EXPECT_TRUE(told_[0].cut);
    EXPECT_GE(silent_, kDeadline);
    EXPECT_TRUE(watch_.is_cut(kOther));
    EXPECT_FALSE(peers_.peer(kOther)) << "nothing begins with it";
    EXPECT_TRUE(until([&] { return ended; })) << "and what was under way ends";
    run_for(kDeadline);
    EXPECT_EQ(told_.size(), 1U) << "it is said once";

    network_.thaw(*there_);
    ASSERT_TRUE(until([&] { return !told_.back().cut; }));
    EXPECT_TRUE(peers_.peer(kOther));
    EXPECT_FALSE(watch_.is_cut(kOther));
}

// The controller cannot remember any number of cuts, and may not have known one of the nodes.
TEST_F(PeerWatchTest, TheControllerIsToldAgainAndAgainAsLongAsTheCutLasts) {
    network_.freeze(*there_);
    watch_.suspect(kOther);
    ASSERT_TRUE(until([&] { return told_.size() == 3; }));
    for (const Told& told : told_) EXPECT_TRUE(told.cut);
    EXPECT_GE(silent_, 10 * kDeadline);
}

TEST_F(PeerWatchTest, AConnectionThatIsLostInTheMidstOfSilenceTellsOfACutAtOnce) {
    watch_.lost(kOther, "at first");
    EXPECT_FALSE(watch_.is_cut(kOther)) << "without a silence before, its process may have died";
    EXPECT_EQ(losses_, std::vector<std::string>{"at first"});
    network_.freeze(*there_);
    ASSERT_TRUE(until([&] {
        watch_.suspect(kOther);
        watch_.lost(kOther, "again");
        return watch_.is_cut(kOther);
    }));
    EXPECT_TRUE(told_.at(0).cut);
    EXPECT_EQ(losses_.size(), 1U);
}

TEST_F(PeerWatchTest, AnotherLossSoonAfterIsToldOnceTheNodeIsHeard) {
    watch_.lost(kOther, "first");
    watch_.lost(kOther, "second");
    EXPECT_EQ(losses_, std::vector<std::string>{"first"});
    ASSERT_TRUE(until([&] { return losses_.size() == 2; }));
    EXPECT_EQ(losses_[1], "second");
    EXPECT_TRUE(told_.empty());
    run_for(kDeadline);
    watch_.lost(kOther, "much later");
    EXPECT_EQ(losses_.size(), 3U) << "at once";
}

// The controller would exclude one of two nodes that cannot reach each other, and again when that
// node is back.
TEST_F(PeerWatchTest, LossesOfANodeThatIsNeverReachedAreToldOnceAndThenTheWayIsCut) {
    network_.freeze(*there_);
    watch_.lost(kOther, "it cannot be reached");
    watch_.forget(kOther);
    while (told_.empty()) {
        watch_.lost(kOther, "it cannot be reached");
        run_for(kDeadline / 20);
    }
    EXPECT_TRUE(told_[0].cut);
    EXPECT_EQ(losses_.size(), 1U);
}

TEST_F(PeerWatchTest, WhoStoodStillItselfBlamesNobody) {
    network_.freeze(*there_);
    watch_.suspect(kOther);
    // The process stands still: this is what the test is about.
    const base::TimePoint woken = base::now() + 2 * kDeadline;
    while (base::now() < woken) {
    }
    loop_->turn(false);
    EXPECT_TRUE(told_.empty());
    network_.thaw(*there_);
    run_for(kDeadline);
    EXPECT_TRUE(told_.empty());
}

TEST_F(PeerWatchTest, AControllerThatMayNotKnowIsToldAgainAndANodeThatIsGoneIsForgotten) {
    network_.freeze(*there_);
    watch_.suspect(kOther);
    ASSERT_TRUE(until([&] { return !told_.empty(); }));
    watch_.attached();
    EXPECT_EQ(told_.size(), 2U);
    watch_.forget(kOther);
    // The report of the cut may have come when the node was back already. Without this second
    // report the first would hold for ever.
    ASSERT_EQ(told_.size(), 3U);
    EXPECT_FALSE(told_.back().cut);
    watch_.attached();
    EXPECT_EQ(told_.size(), 3U);
    EXPECT_FALSE(watch_.is_cut(kOther));
}

}  // namespace
}  // namespace pace::daemon
