// Parts of buffers: which parts one call may name together, and which parts may be named beside
// requests in flight.
#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::SubmissionEntry;

class SlicesTest : public SessionFixture {
  protected:
    void SetUp() override {
        Script script;
        script.on_submission = [this](Peer& peer, const SubmissionEntry& entry) {
            seen_ = entry;
            if (!is_holding_) peer.complete_done(entry.id);
        };
        start(std::move(script));
        session_ = open();
        buffer_ = make_buffer(*session_, 16).handle;
    }

    base::Result<RequestHandle> sync(const std::vector<Slice>& slices) {
        Operation operation;
        operation.verb = protocol::Verb::sync;
        operation.slices = slices;
        operation.user_data = 77;
        return session_->submit(operation);
    }
    ErrorKind refusal(const std::vector<Slice>& slices) {
        const auto request = sync(slices);
        return request ? ErrorKind::internal : request.error().kind;
    }

    SubmissionEntry seen_{};
    std::atomic<bool> is_holding_{true};
    std::unique_ptr<Session> session_;
    BufferHandle buffer_;
};

TEST_F(SlicesTest, ArriveWithTheirElements) {
    is_holding_ = false;
    const auto request = sync({{buffer_, 3, 2}, {buffer_, 8, kRest}});
    ASSERT_TRUE(request) << request.error().message;
    wait(*session_, *request);
    daemon_->settle();
    ASSERT_EQ(seen_.slice_count, 2);
    EXPECT_EQ(seen_.slices[0].first, 3U);
    EXPECT_EQ(seen_.slices[0].count, 2U);
    EXPECT_EQ(seen_.slices[1].first, 8U);
    EXPECT_EQ(seen_.slices[1].count, 8U);
}

TEST_F(SlicesTest, OutsideOfTheirBufferAreRefused) {
    EXPECT_EQ(refusal({{buffer_, 16, kRest}}), ErrorKind::invalid);
    EXPECT_EQ(refusal({{buffer_, 16, 0}}), ErrorKind::invalid);
    EXPECT_EQ(refusal({{buffer_, 0, 0}}), ErrorKind::invalid);
    EXPECT_EQ(refusal({{buffer_, 0, 17}}), ErrorKind::invalid);
    EXPECT_EQ(refusal({{buffer_, 15, 2}}), ErrorKind::invalid);
    EXPECT_EQ(refusal({{buffer_, UINT64_MAX, 2}}), ErrorKind::invalid);
    EXPECT_EQ(refusal({{buffer_, 2, UINT64_MAX - 1}}), ErrorKind::invalid);
}

TEST_F(SlicesTest, ThatMeetAreRefusedWithinACallAndBesideOneInFlight) {
    EXPECT_EQ(refusal({{buffer_, 0, 9}, {buffer_, 8, 1}}), ErrorKind::invalid);
    const auto first = sync({{buffer_, 4, 4}});
    ASSERT_TRUE(first);
    EXPECT_EQ(refusal({{buffer_, 0, 5}}), ErrorKind::invalid);
    EXPECT_EQ(refusal({{buffer_, 7, 1}}), ErrorKind::invalid);
    EXPECT_EQ(session_->free_buffer(buffer_).error().kind, ErrorKind::invalid);
    const auto beside = sync({{buffer_, 0, 4}, {buffer_, 8, 8}});
    ASSERT_TRUE(beside) << beside.error().message;
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(first->id); });
    EXPECT_EQ(wait(*session_, *first).user_data, 77U);
    EXPECT_TRUE(sync({{buffer_, 4, 4}}));
}

}  // namespace
}  // namespace pace::client::testing
