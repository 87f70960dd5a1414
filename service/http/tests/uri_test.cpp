#include "service/http/uri.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace pace::http {
namespace {

TEST(Uri, DecodesWhatIsWellFormed) {
    EXPECT_EQ(decoded("a%20b%2Fc%C3%A4"), "a b/c\xC3\xA4");
    EXPECT_EQ(decoded(""), "");
    for (const char* text : {"%", "%1", "%zz", "%0", "a%00b", "%0a", "a\x7F", "%+1", "%-1"})
        EXPECT_FALSE(decoded(text)) << text;
}

std::string at(std::string_view host) {
    return std::string(host) + ":7412";
}

TEST(Uri, AHostIsItsNameWithoutThePort) {
    EXPECT_EQ(host_name(at("localhost")), "localhost");
    EXPECT_EQ(host_name("localhost"), "localhost");
    EXPECT_EQ(host_name(at("[::1]")), "::1");
    EXPECT_EQ(host_name("[::1"), "");
    EXPECT_EQ(host_name(""), "");
}

TEST(Uri, OwnHostsAreLoopbackAndThisMachine) {
    for (const char* host :
         {"localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "[::1]", "node-1", "Node-1"}) {
        EXPECT_TRUE(is_own_host(host, "node-1")) << host;
        EXPECT_TRUE(is_own_host(at(host), "node-1")) << host;
    }
    for (const char* host : {"", "evil.example", "localhost.evil.example", "10.0.0.1",
                             "127.0.0.1.evil.example", "0.0.0.0", "[::2]", "127.1", "node-12"}) {
        EXPECT_FALSE(is_own_host(host, "node-1")) << host;
        EXPECT_FALSE(is_own_host(at(host), "node-1")) << host;
    }
    EXPECT_FALSE(is_own_host("", ""));
}

}  // namespace
}  // namespace pace::http
