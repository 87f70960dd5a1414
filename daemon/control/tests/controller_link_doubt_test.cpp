// Doubt tests: a daemon whose process stands still, and the real controller, which runs on.
#include <functional>
#include <memory>
#include <optional>

#include "daemon/control/tests/link_fixture.h"

namespace pace::daemon {
namespace {

class ControllerLinkDoubtTest : public LinkFixture {
  protected:
    void begin(uint32_t liveness_max_ms) {
        controller::ControllerConfig config;
        config.liveness_max_ms = liveness_max_ms;
        config.liveness_min_ms = 300;
        config.heartbeat_ms = 20;
        serve(config);
        still_.emplace(*own_loop_, daemon_config("still"));
        ASSERT_NE(still_->link, nullptr) << still_->error.message;
        ASSERT_TRUE(until_with_it([this] { return still_->link->attached(); }));
        EXPECT_FALSE(doubt().is_at(base::now_through_sleep()));
    }
    // Turns the frozen daemon's loop as well.
    bool until_with_it(const std::function<bool()>& holds) {
        return until([&] {
            own_loop_->turn(false);
            return holds();
        });
    }
    Doubt& doubt() { return still_->link->doubt(); }

    const std::unique_ptr<base::EventLoop> own_loop_ = base::EventLoop::create().value();
    std::optional<TestDaemon> still_;
};

TEST_F(ControllerLinkDoubtTest, WhoStoodStillIsInDoubtUntilTheControllerHasAnswered) {
    begin(20'000);
    ASSERT_TRUE(until([this] { return doubt().is_at(base::now_through_sleep()); }))
        << "its loop is not turned";
    bool sure = false;
    doubt().when_sure(base::now_through_sleep(), [&] { sure = true; });
    EXPECT_FALSE(sure);
    ASSERT_TRUE(until_with_it([&] { return sure; }));
    EXPECT_EQ(still_->detachments, 0);
}

TEST_F(ControllerLinkDoubtTest, WhoWasGivenUpHearsSoBeforeItIsSure) {
    begin(600);
    const auto other = attached_daemon("other");
    ASSERT_TRUE(until([&] { return !other->gone.empty(); }));
    ASSERT_TRUE(doubt().is_at(base::now_through_sleep()));
    int excluded_before = -1;
    doubt().when_sure(base::now_through_sleep(), [&] { excluded_before = still_->exclusions; });
    ASSERT_TRUE(until_with_it([&] { return excluded_before >= 0; }));
    EXPECT_EQ(excluded_before, 1);
    EXPECT_TRUE(still_->link->attached());
}

}  // namespace
}  // namespace pace::daemon
