#include "service/http/secret.h"

#include <sys/stat.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "service/http/tests/server_fixture.h"

namespace pace::http {
namespace {

TEST(Secret, ATokenIsOneLine) {
    const Folder folder;
    const auto token = read_token("http_token_file", folder.file("t", std::string(kToken) + "\n"));
    ASSERT_TRUE(token) << token.error().message;
    EXPECT_EQ(*token, kToken);
    for (const std::string& text :
         {std::string(), std::string("\n"), std::string("short"),
          std::string("two words 0123456789"), std::string("line-0123456789abc\nanother\n"),
          std::string(257, 'a'), std::string(70'000, 'a'), std::string("nul-0123456789abcd\0", 19),
          std::string("ä-0123456789abcdef")}) {
        const auto wrong = read_token("http_token_file", folder.file("wrong", text));
        ASSERT_FALSE(wrong) << text.substr(0, 40);
        EXPECT_NE(wrong.error().message.find("http_token_file"), std::string::npos);
    }
}

TEST(Secret, OthersMustNotReadOrChangeIt) {
    const Folder folder;
    for (const unsigned mode : {0600U, 0400U, 0640U, 0440U})
        EXPECT_TRUE(read_token("http_token_file", folder.file("t", kToken, mode))) << mode;
    for (const unsigned mode : {0644U, 0604U, 0602U, 0660U}) {
        const auto token = read_token("http_token_file", folder.file("t", kToken, mode));
        ASSERT_FALSE(token) << mode;
        EXPECT_EQ(token.error().kind, base::ErrorKind::denied);
        EXPECT_NE(token.error().message.find("chmod"), std::string::npos);
    }
}

// A pipe would block the start forever.
TEST(Secret, OnlyARegularFileIsRead) {
    const Folder folder;
    const std::string pipe = folder.path() + "/pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_FALSE(read_token("http_token_file", pipe));
    EXPECT_FALSE(read_token("http_token_file", folder.path()));
    EXPECT_FALSE(read_token("http_token_file", folder.path() + "/nothing"));
}

TEST(Secret, ATokenIsReadFromSystemdsCredential) {
    const Folder folder;
    folder.file("http.token", kToken, 0440);
    setenv("CREDENTIALS_DIRECTORY", folder.path().c_str(), 1);
    const auto token = read_token("http_token_file", "/nonexistent/http.token");
    const auto another = read_token("http_token_file", "/nonexistent/another.token");
    unsetenv("CREDENTIALS_DIRECTORY");
    ASSERT_TRUE(token) << token.error().message;
    EXPECT_EQ(*token, kToken);
    EXPECT_FALSE(another);
}

TEST(Secret, AreTheSameOrNot) {
    EXPECT_TRUE(is_same_secret("abc", "abc"));
    for (const char* given : {"", "ab", "abd", "abcd", "abcabc", "Abc"})
        EXPECT_FALSE(is_same_secret(given, "abc")) << given;
    EXPECT_FALSE(is_same_secret("", ""));
}

TEST(Secret, ComesAfterBearer) {
    EXPECT_EQ(bearer_token("Bearer abc"), "abc");
    EXPECT_EQ(bearer_token("bearer abc"), "abc");
    for (const char* header : {"", "abc", "Bearer", "Basic abc", "Bearerabc"})
        EXPECT_EQ(bearer_token(header), "") << header;
}

}  // namespace
}  // namespace pace::http
