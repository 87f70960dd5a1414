// How requests and sessions end in the C interface.
#include <string>

#include <gtest/gtest.h>

#include "capi/tests/pace_fixture.h"

namespace pace::capi {
namespace {

class WaitTest : public PaceFixture {};

TEST_F(WaitTest, WaitingAndTestingTellApartUnendedAndEnded) {
    start(holding());
    pace_request request{};
    ASSERT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK);
    EXPECT_EQ(pace_request_test(session_, request, nullptr, nullptr, &error_), PACE_PENDING);
    EXPECT_EQ(pace_request_wait(session_, request, 0, nullptr, nullptr, &error_), PACE_TIMEOUT);
    EXPECT_EQ(pace_request_wait(session_, request, 1, nullptr, nullptr, &error_), PACE_TIMEOUT);
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    info.status = PACE_OK;
    EXPECT_EQ(pace_request_test(session_, request, nullptr, &info, &error_), PACE_PENDING);
    EXPECT_EQ(info.status, PACE_PENDING);
    info.status = PACE_OK;
    expect_invalid(pace_request_wait(session_, request, -2, nullptr, &info, &error_), "timeout_ms");
    EXPECT_EQ(info.status, PACE_PENDING);
    daemon_->with_peer([&](Peer& peer) { peer.complete_failed(request.id, ErrorKind::mismatch); });
    EXPECT_EQ(pace_request_test(session_, request, nullptr, &info, &error_), PACE_E_MISMATCH);
    EXPECT_EQ(info.status, PACE_E_MISMATCH);
    EXPECT_EQ(error_.status, PACE_E_MISMATCH);
    EXPECT_STRNE(error_.message, "");
}

TEST_F(WaitTest, WhatWasRefusedAtItsEndIsNoWrongArgument) {
    Script script;
    script.on_submission = [](Peer& peer, const SubmissionEntry& submission) {
        peer.complete_failed(submission.id, ErrorKind::invalid);
    };
    start(std::move(script));
    pace_request request{};
    ASSERT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK);
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    EXPECT_EQ(pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info, &error_),
              PACE_E_REFUSED);
    EXPECT_EQ(info.status, PACE_E_REFUSED);
}

TEST_F(WaitTest, AWaitForADeviceThatIsNotBuiltInSaysSoAndCollectsNothing) {
    start();
    pace_request request{};
    ASSERT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK);
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    for (const int type : {int{PACE_DEVICE_ROCM}, int{PACE_DEVICE_ONEAPI}, 4711}) {
        how.device.type = type;
        EXPECT_EQ(pace_request_wait(session_, request, PACE_FOREVER, &how, &info, &error_),
                  PACE_E_UNSUPPORTED);
        EXPECT_EQ(info.status, PACE_PENDING);
    }
    how.device = {PACE_DEVICE_CUDA, -1};
    expect_invalid(pace_request_wait(session_, request, 0, &how, &info, &error_), "device.id");
    how.device = {PACE_DEVICE_CPU, 0};
    how.stream = &how;
    expect_invalid(pace_request_wait(session_, request, 0, &how, &info, &error_), "stream");
    how.stream = nullptr;
    how.flags = 6;
    expect_invalid(pace_request_wait(session_, request, 0, &how, &info, &error_), "flags");
    how.flags = PACE_WAIT_SIGNALS;
    EXPECT_EQ(pace_request_wait(session_, request, PACE_FOREVER, &how, &info, &error_), PACE_OK);
}

TEST_F(WaitTest, TheNextRequestToEndIsNamed) {
    start(holding());
    pace_request first{};
    pace_request second{};
    pace_request next{};
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    EXPECT_EQ(pace_session_next(session_, PACE_FOREVER, nullptr, &next, &info, &error_),
              PACE_E_NOT_FOUND);
    ASSERT_EQ(pace_barrier(session_, nullptr, &first, &error_), PACE_OK);
    ASSERT_EQ(pace_barrier(session_, nullptr, &second, &error_), PACE_OK);
    EXPECT_EQ(pace_session_next(session_, 0, nullptr, &next, &info, &error_), PACE_TIMEOUT);
    EXPECT_EQ(next.id, 0U);
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(second.id); });
    EXPECT_EQ(pace_session_next(session_, PACE_FOREVER, nullptr, &next, &info, &error_), PACE_OK);
    EXPECT_EQ(next.id, second.id);
    EXPECT_EQ(info.status, PACE_OK);
    expect_invalid(pace_session_next(session_, 0, nullptr, nullptr, &info, &error_), "ret_request");
}

// The test also covers a request that has failed. While no request has ended, the outputs stay as
// they were, except that the status is PACE_PENDING.
TEST_F(WaitTest, TheNextRequestIsNamedHoweverItHasEnded) {
    start(holding());
    pace_request request{};
    ASSERT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK);
    pace_request next{7, 8};
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    info.iteration = 99;
    info.divisor = 4;
    EXPECT_EQ(pace_session_next(session_, 0, nullptr, &next, &info, &error_), PACE_TIMEOUT);
    EXPECT_EQ(next.id, 8U);
    EXPECT_EQ(info.status, PACE_PENDING);
    EXPECT_EQ(info.iteration, 99U);
    EXPECT_EQ(info.divisor, 4);
    daemon_->with_peer([&](Peer& peer) { peer.complete_failed(request.id, ErrorKind::mismatch); });
    EXPECT_EQ(pace_session_next(session_, PACE_FOREVER, nullptr, &next, &info, &error_),
              PACE_E_MISMATCH);
    EXPECT_EQ(next.id, request.id);
    EXPECT_EQ(info.status, PACE_E_MISMATCH);
    EXPECT_EQ(info.iteration, 0U);
}

TEST_F(WaitTest, EveryCallOfASessionThatHasLeftSaysSo) {
    start(holding());
    pace_buffer buffer = make_buffer();
    pace_request request{};
    ASSERT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK);
    ASSERT_EQ(pace_session_leave(session_, PACE_FOREVER, &error_), PACE_OK);
    pace_session_info session_info = PACE_SESSION_INFO_INIT;
    pace_buffer_info buffer_info = PACE_BUFFER_INFO_INIT;
    pace_request next{};
    int fd = -1;
    void* pointer = nullptr;
    EXPECT_EQ(pace_session_get_info(session_, &session_info, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_session_get_fd(session_, &fd, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_session_next(session_, 0, nullptr, &next, nullptr, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_buffer_create(session_, PACE_F32, 1, nullptr, &buffer, &pointer, &error_),
              PACE_E_CLOSED);
    EXPECT_EQ(pace_buffer_get_info(session_, buffer, &buffer_info, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_buffer_to_dlpack(session_, buffer, 0, &pointer, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_buffer_free(session_, buffer, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_buffer_release(session_, buffer, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_request_wait_any(session_, &request, 1, 0, nullptr, &next, nullptr, &error_),
              PACE_E_CLOSED);
    EXPECT_EQ(pace_request_wait(session_, request, 0, nullptr, nullptr, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_request_test(session_, request, nullptr, nullptr, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_request_ready(session_, request, 1, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_request_cancel(session_, request, &error_), PACE_E_CLOSED);
    EXPECT_EQ(pace_announce(session_, 1, &error_), PACE_E_CLOSED);
    EXPECT_EQ(fd, -1);
    EXPECT_EQ(pointer, nullptr);
}

TEST_F(WaitTest, ASessionThatHasLeftIsOver) {
    start();
    expect_invalid(pace_session_leave(session_, -2, &error_), "timeout_ms");
    EXPECT_EQ(pace_session_leave(session_, PACE_FOREVER, &error_), PACE_OK);
    EXPECT_EQ(pace_session_leave(session_, PACE_FOREVER, &error_), PACE_E_CLOSED);
    pace_request request{};
    EXPECT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_E_CLOSED);
}

TEST_F(WaitTest, ADeadDaemonEndsRequestsAsGone) {
    start(holding());
    pace_request request{};
    ASSERT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK);
    daemon_->kill();
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    EXPECT_EQ(pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info, &error_),
              PACE_E_DAEMON_GONE);
    EXPECT_EQ(info.status, PACE_E_DAEMON_GONE);
    daemon_->restart({});
    EXPECT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK) << error_.message;
}

}  // namespace
}  // namespace pace::capi
