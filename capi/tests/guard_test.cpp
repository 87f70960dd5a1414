#include "capi/guard.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace pace::capi {
namespace {

using base::ErrorKind;
using base::Result;

TEST(Guard, LetsNoExceptionThrough) {
    pace_error error{};
    EXPECT_EQ(guard(&error, []() -> Result<> { throw std::bad_alloc(); }), PACE_E_MEMORY);
    EXPECT_EQ(error.status, PACE_E_MEMORY);
    EXPECT_EQ(guard(&error, []() -> Result<> { throw std::runtime_error("why"); }),
              PACE_E_INTERNAL);
    EXPECT_STREQ(error.message, "why");
    EXPECT_EQ(guard(nullptr, []() -> Result<> { throw 7; }), PACE_E_INTERNAL);
}

TEST(Guard, FillsTheErrorOnFailureOnly) {
    pace_error error{};
    error.status = 77;
    EXPECT_EQ(guard(&error, []() -> Result<> { return {}; }), PACE_OK);
    EXPECT_EQ(error.status, 77);
    EXPECT_EQ(guard(&error,
                    []() -> Result<> {
                        return base::Error{ErrorKind::taken, "held"};
                    }),
              PACE_E_TAKEN);
    EXPECT_EQ(error.status, PACE_E_TAKEN);
    EXPECT_STREQ(error.message, "held");
}

TEST(Guard, SaysWhichArgumentIsWrongAndNothingOfOtherFailures) {
    static_assert(sizeof(pace_error) == 512);
    pace_error error{};
    report(&error, PACE_E_INVALID, "topk.density is 2; give a number above 0 and at most 1");
    EXPECT_STREQ(error.argument, "topk.density");
    report(&error, PACE_E_TAKEN, "rank is held");
    EXPECT_STREQ(error.argument, "");
    report(&error, PACE_E_INVALID, "there is no option '" + std::string(60, 'x') + "'");
    EXPECT_EQ(std::string(error.argument), std::string(31, 'x'));
}

TEST(Guard, CutsLongMessagesBetweenCharacters) {
    pace_error error{};
    // The text is one byte shorter than what fits. A character of two bytes follows.
    const std::string most(sizeof(error.message) - 2, 'a');
    report(&error, PACE_E_INVALID, most + "\xC3\xA9" + "b");
    EXPECT_EQ(std::string(error.message), most);
    report(&error, PACE_E_INVALID, std::string(600, 'a'));
    EXPECT_EQ(std::string(error.message).size(), sizeof(error.message) - 1);
}

}  // namespace
}  // namespace pace::capi
