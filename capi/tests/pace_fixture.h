// PaceFixture: a session through the C interface, against a scripted daemon.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"
#include "capi/pace.h"
#include "capi/testing/asked_session.h"
#include "libclient/testing/fake_daemon.h"

namespace pace::capi {

using base::ErrorKind;
using client::testing::FakeDaemon;
using client::testing::holding;
using client::testing::keeping;
using client::testing::Peer;
using client::testing::Script;
using protocol::SubmissionEntry;

class PaceFixture : public ::testing::Test {
  protected:
    PaceFixture() { asked_.policy = PACE_POLICY_PARTIAL_REDUCE; }
    void start(Script script = {}) {
        daemon_ = std::make_unique<FakeDaemon>(folder_.file("socket"), std::move(script));
        asked_.endpoint = daemon_->endpoint();
        asked_.job = "fashion";
        asked_.world = 4;
        asked_.rank = 2;
        ASSERT_EQ(asked_.open(&session_, &error_), PACE_OK) << error_.message;
    }
    void TearDown() override {
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
    }

    pace_buffer make_buffer() {
        pace_buffer buffer{};
        void* data = nullptr;
        EXPECT_EQ(pace_buffer_create(session_, PACE_F32, 64, nullptr, &buffer, &data, &error_),
                  PACE_OK)
            << error_.message;
        EXPECT_NE(data, nullptr);
        return buffer;
    }

    void expect_invalid(pace_status status, const char* word) {
        EXPECT_EQ(status, PACE_E_INVALID);
        EXPECT_EQ(error_.status, PACE_E_INVALID);
        EXPECT_NE(std::string(error_.message).find(word), std::string::npos) << error_.message;
    }

    base::testing::TemporaryFolder folder_;
    std::unique_ptr<FakeDaemon> daemon_;
    AskedSession asked_;
    pace_session* session_ = nullptr;
    pace_error error_{};
};

}  // namespace pace::capi
