#include "capi/status.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace pace::capi {
namespace {

using base::ErrorKind;
using protocol::Outcome;

constexpr int kLastKind = static_cast<int>(ErrorKind::internal);

TEST(Status, EveryErrorKindIsMapped) {
    // The test notices a kind that was added after `internal`.
    EXPECT_EQ(base::error_kind_name(static_cast<ErrorKind>(kLastKind + 1)), "unknown");
    for (int number = 1; number <= kLastKind; ++number) {
        const auto kind = static_cast<ErrorKind>(number);
        ASSERT_NE(base::error_kind_name(kind), "unknown") << number;
        EXPECT_STRNE(pace_status_name(status_of_call(kind)), "PACE_?") << number;
        EXPECT_STRNE(pace_status_name(status_of_end(kind)), "PACE_?") << number;
        if (kind == ErrorKind::internal || kind == ErrorKind::corrupt) continue;
        EXPECT_NE(status_of_call(kind), PACE_E_INTERNAL) << base::error_kind_name(kind);
    }
}

TEST(Status, AFailedCallNeverLooksLikeAnOutcomeToHandle) {
    for (int number = 1; number <= kLastKind; ++number) {
        const auto kind = static_cast<ErrorKind>(number);
        if (kind == ErrorKind::interrupted)
            EXPECT_EQ(status_of_call(kind), PACE_INTERRUPTED);
        else
            EXPECT_LT(status_of_call(kind), 0) << number;
    }
}

TEST(Status, AnEndedRequestNeverLooksUnended) {
    for (int number = 1; number <= kLastKind; ++number) {
        const pace_status status = status_of_end(static_cast<ErrorKind>(number));
        EXPECT_NE(status, PACE_OK);
        EXPECT_NE(status, PACE_TIMEOUT);
        EXPECT_NE(status, PACE_PENDING);
    }
}

TEST(Status, WhatWasRefusedAtTheEndIsNoWrongArgument) {
    EXPECT_EQ(status_of_call(ErrorKind::invalid), PACE_E_INVALID);
    EXPECT_EQ(status_of_end(ErrorKind::invalid), PACE_E_REFUSED);
}

TEST(Status, KindsThatDoNotExistAreInternal) {
    for (const int number : {-1, 0, kLastKind + 1, 1 << 30}) {
        EXPECT_EQ(status_of_call(static_cast<ErrorKind>(number)), PACE_E_INTERNAL);
        EXPECT_EQ(status_of(Outcome::failed, number), PACE_E_INTERNAL);
    }
}

TEST(Status, OutcomesHaveTheNumbersOfTheHeader) {
    EXPECT_EQ(status_of(Outcome::done, 0), PACE_OK);
    EXPECT_EQ(status_of(Outcome::aborted, 0), PACE_ABORTED);
    EXPECT_EQ(status_of(Outcome::canceled, 0), PACE_CANCELED);
    EXPECT_EQ(status_of(Outcome::stale, 0), PACE_STALE);
    EXPECT_EQ(status_of(Outcome::failed, static_cast<int>(ErrorKind::mismatch)), PACE_E_MISMATCH);
}

TEST(Status, NamesAreDistinct) {
    std::set<std::string> names;
    for (pace_status status = PACE_E_UNSUPPORTED; status <= PACE_INTERRUPTED; ++status)
        EXPECT_TRUE(names.insert(pace_status_name(status)).second) << status;
    EXPECT_EQ(names.count("PACE_?"), 0U);
    EXPECT_STREQ(pace_status_name(PACE_E_UNSUPPORTED - 1), "PACE_?");
    EXPECT_STREQ(pace_status_name(PACE_INTERRUPTED + 1), "PACE_?");
}

}  // namespace
}  // namespace pace::capi
