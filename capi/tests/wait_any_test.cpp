// Waiting for one of several requests through the C interface.
#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "capi/tests/pace_fixture.h"

namespace pace::capi {
namespace {

class WaitAnyTest : public PaceFixture {
  protected:
    pace_request barrier() {
        pace_request request{};
        EXPECT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK) << error_.message;
        return request;
    }
    pace_status wait_any(const std::array<pace_request, 2>& wanted, int64_t timeout_ms) {
        return pace_request_wait_any(session_, wanted.data(), wanted.size(), timeout_ms, nullptr,
                                     &found_, &info_, &error_);
    }
    void end(pace_request request) {
        daemon_->with_peer([&](Peer& peer) { peer.complete_done(request.id); });
    }

    pace_request found_{};
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
};

TEST_F(WaitAnyTest, TheFirstOfThoseNamedIsCollectedAndOthersAreLeftAlone) {
    start(holding());
    const pace_request other = barrier();
    const pace_request first = barrier();
    const pace_request second = barrier();
    end(other);
    EXPECT_EQ(wait_any({first, second}, 0), PACE_TIMEOUT);
    EXPECT_EQ(found_.id, 0U);
    EXPECT_EQ(info_.status, PACE_PENDING);
    end(second);
    end(first);
    EXPECT_EQ(wait_any({first, second}, PACE_FOREVER), PACE_OK);
    EXPECT_EQ(found_.id, second.id);
    EXPECT_EQ(info_.status, PACE_OK);
    for (const pace_request& left : {first, other})
        EXPECT_EQ(pace_request_test(session_, left, nullptr, nullptr, &error_), PACE_OK);
}

TEST_F(WaitAnyTest, OneThatEndsWhileItIsWaitedForIsFoundThoughAnotherIsNotCollected) {
    start(holding());
    const pace_request other = barrier();
    const pace_request first = barrier();
    const pace_request second = barrier();
    end(other);
    std::thread ending([&] { end(first); });
    EXPECT_EQ(wait_any({first, second}, PACE_FOREVER), PACE_OK);
    ending.join();
    EXPECT_EQ(found_.id, first.id);
}

TEST_F(WaitAnyTest, HoweverItHasEndedItIsNamed) {
    start(holding());
    const std::array both{barrier(), barrier()};
    daemon_->with_peer([&](Peer& peer) { peer.complete_failed(both[1].id, ErrorKind::mismatch); });
    EXPECT_EQ(wait_any(both, PACE_FOREVER), PACE_E_MISMATCH);
    EXPECT_EQ(found_.id, both[1].id);
    EXPECT_EQ(info_.status, PACE_E_MISMATCH);
}

TEST_F(WaitAnyTest, OneThatIsCollectedAlreadyEndsTheWaitAndCollectsNothing) {
    start(holding());
    const std::array both{barrier(), barrier()};
    end(both[0]);
    end(both[1]);
    ASSERT_EQ(pace_request_wait(session_, both[0], PACE_FOREVER, nullptr, nullptr, &error_),
              PACE_OK);
    EXPECT_EQ(wait_any(both, PACE_FOREVER), PACE_E_HANDLE);
    EXPECT_EQ(info_.status, PACE_PENDING);
    EXPECT_EQ(pace_request_test(session_, both[1], nullptr, nullptr, &error_), PACE_OK);
}

TEST_F(WaitAnyTest, WrongArgumentsAreNamed) {
    start(holding());
    const std::array both{barrier(), barrier()};
    const auto call = [&](const pace_request* requests, size_t count, pace_request* ret) {
        return pace_request_wait_any(session_, requests, count, 0, nullptr, ret, &info_, &error_);
    };
    expect_invalid(call(nullptr, 1, &found_), "requests");
    expect_invalid(call(both.data(), 2, nullptr), "ret_request");
    expect_invalid(call(both.data(), 0, &found_), "count is 0");
    expect_invalid(call(both.data(), 65, &found_), "count is 65");
}

}  // namespace
}  // namespace pace::capi
