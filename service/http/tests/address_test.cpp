#include "service/http/address.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pace::http {
namespace {

std::string at(std::string_view host, std::string_view port) {
    return fmt::format("{}:{}", host, port);
}

TEST(Address, IsNumericWithAPort) {
    for (const auto& [host, shown] : {std::pair("127.0.0.1", "127.0.0.1"),
                                      {"localhost", "127.0.0.1"},
                                      {"[::1]", "[::1]"},
                                      {"10.0.0.1", "10.0.0.1"}})
        for (const char* port : {"0", "7412", "65535"}) {
            const auto address = parse_address(at(host, port));
            ASSERT_TRUE(address) << host;
            EXPECT_EQ(address->text(), at(shown, port));
        }
}

TEST(Address, AnythingElseIsNone) {
    for (const std::string& text :
         {std::string(), std::string("7412"), std::string("127.0.0.1"), at("127.0.0.1", ""),
          at("127.0.0.1", "65536"), at("::1", "80"), std::string("[::1]"), at("[127.0.0.1]", "80"),
          at("example.org", "80"), at("127.0.0.1", "80x"), at("127.0.0.1", "-1"), at("", "80")}) {
        const auto address = parse_address(text);
        ASSERT_FALSE(address) << text;
        EXPECT_EQ(address.error().kind, base::ErrorKind::invalid);
    }
}

TEST(Address, KnowsLoopback) {
    for (const char* host : {"127.0.0.1", "127.8.9.10", "[::1]"})
        EXPECT_TRUE(parse_address(at(host, "80"))->is_loopback()) << host;
    for (const char* host : {"0.0.0.0", "10.0.0.1", "[::]", "[fe80::1]", "128.0.0.1"})
        EXPECT_FALSE(parse_address(at(host, "80"))->is_loopback()) << host;
}

TEST(Address, APortInUseIsTaken) {
    const auto first = listen_at(*parse_address("127.0.0.1:0"));
    ASSERT_TRUE(first);
    const auto bound = address_of(first->get());
    ASSERT_TRUE(bound);
    EXPECT_FALSE(bound->text().ends_with(":0"));
    const auto second = listen_at(*bound);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::taken);
    EXPECT_NE(second.error().message.find(bound->text()), std::string::npos);
}

}  // namespace
}  // namespace pace::http
