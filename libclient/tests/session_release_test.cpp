// Released buffers: they are freed without waiting, when the session next talks with its daemon.
#include <gtest/gtest.h>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::Verb;

class ReleaseTest : public SessionFixture {
  protected:
    void SetUp() override {
        start(holding());
        session_ = open();
        buffer_ = make_buffer(*session_).handle;
    }

    base::Result<RequestHandle> average(bool keep_local = false) {
        Operation operation;
        operation.verb = Verb::average;
        const Slice slice{buffer_};
        operation.slices = {&slice, 1};
        operation.keep_local = keep_local;
        return session_->submit(operation);
    }
    void end(RequestHandle request) {
        daemon_->with_peer([&](Peer& peer) { peer.complete_done(request.id); });
        wait(*session_, request);
    }
    size_t held_by_daemon() {
        size_t count = 0;
        daemon_->with_peer([&](Peer& peer) { count = peer.buffers.size(); });
        return count;
    }

    std::unique_ptr<Session> session_;
    BufferHandle buffer_;
};

TEST_F(ReleaseTest, TheHandleIsVoidAtOnceAndTheBufferGoesWithTheNextCallThatMakesOne) {
    EXPECT_TRUE(session_->release_buffer(buffer_));
    EXPECT_EQ(session_->release_buffer(buffer_).error().kind, ErrorKind::handle);
    EXPECT_EQ(session_->free_buffer(buffer_).error().kind, ErrorKind::handle);
    EXPECT_EQ(session_->buffer_info(buffer_).error().kind, ErrorKind::handle);
    EXPECT_EQ(average().error().kind, ErrorKind::handle);
    EXPECT_EQ(held_by_daemon(), 1U);
    EXPECT_NE(make_buffer(*session_).handle.generation, buffer_.generation);
    EXPECT_EQ(held_by_daemon(), 1U);
}

TEST_F(ReleaseTest, ItGoesWithTheNextCallThatFreesOne) {
    const BufferHandle other = make_buffer(*session_).handle;
    EXPECT_TRUE(session_->release_buffer(buffer_));
    EXPECT_TRUE(session_->free_buffer(other));
    EXPECT_EQ(held_by_daemon(), 0U);
}

TEST_F(ReleaseTest, OneThatARequestNamesStaysUntilThatHasEnded) {
    const auto request = average();
    ASSERT_TRUE(request);
    EXPECT_TRUE(session_->release_buffer(buffer_));
    make_buffer(*session_);
    EXPECT_EQ(held_by_daemon(), 2U);
    end(*request);
    make_buffer(*session_);
    EXPECT_EQ(held_by_daemon(), 2U);
}

TEST_F(ReleaseTest, TheCopyOfABufferThatIsAveragedBesideComputingGoesWithIt) {
    const auto request = average(true);
    ASSERT_TRUE(request);
    EXPECT_EQ(held_by_daemon(), 2U);
    EXPECT_TRUE(session_->release_buffer(buffer_));
    end(*request);
    make_buffer(*session_);
    EXPECT_EQ(held_by_daemon(), 1U);
}

TEST_F(ReleaseTest, AnotherDaemonIsToldToo) {
    EXPECT_TRUE(session_->release_buffer(buffer_));
    daemon_->restart({});
    make_buffer(*session_);
    EXPECT_EQ(held_by_daemon(), 1U);
}

TEST_F(ReleaseTest, NoHandleIsNothingToRelease) {
    EXPECT_TRUE(session_->release_buffer(BufferHandle{}));
    EXPECT_EQ(held_by_daemon(), 1U);
}

}  // namespace
}  // namespace pace::client::testing
