#include "service/http/local_users.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace pace::http {
namespace {

constexpr uid_t kSomebody = 12345;

TEST(LocalUsers, AreRootAndThisProcesssUserAtLeast) {
    for (const LocalUsers& users : {LocalUsers(), LocalUsers::from({}).value()}) {
        EXPECT_TRUE(users.has(0));
        EXPECT_TRUE(users.has(geteuid()));
        EXPECT_FALSE(users.has(kSomebody));
        EXPECT_FALSE(users.has_everyone());
    }
}

TEST(LocalUsers, HaveNamesAndNumbers) {
    const LocalUsers users = LocalUsers::from({"nobody", "12345"}).value();
    EXPECT_TRUE(users.has(65534));
    EXPECT_TRUE(users.has(kSomebody));
    EXPECT_FALSE(users.has(kSomebody + 1));
}

TEST(LocalUsers, AStarIsEverybody) {
    const LocalUsers users = LocalUsers::from({"*"}).value();
    EXPECT_TRUE(users.has_everyone());
    EXPECT_TRUE(users.has(kSomebody));
}

TEST(LocalUsers, ANameThatNobodyHasIsRefused) {
    for (const char* name : {"no-such-user", "", "-1", "4294967296", "12 "}) {
        const auto users = LocalUsers::from({"root", name});
        ASSERT_FALSE(users) << name;
        EXPECT_NE(users.error().message.find("http_users"), std::string::npos) << name;
    }
}

}  // namespace
}  // namespace pace::http
