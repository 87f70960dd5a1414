#include "service/pacectl/spans/otlp_target.h"

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

std::string url(std::string_view given) {
    const auto whole = otlp_url(given);
    return whole ? *whole : "";
}

TEST(OtlpTarget, AUrlWithoutAPathGetsTheOneOfTraces) {
    EXPECT_EQ(url("http://host"), "http://host/v1/traces");
    EXPECT_EQ(url("https://host:4318/"), "https://host:4318/v1/traces");
    EXPECT_EQ(url("HTTP://[2001:db8::1]:4318"), "HTTP://[2001:db8::1]:4318/v1/traces");
    EXPECT_EQ(url("http://host?tenant=1"), "http://host/v1/traces?tenant=1");
    EXPECT_EQ(url("http://host/otlp/v1/traces"), "http://host/otlp/v1/traces");
}

TEST(OtlpTarget, WhatIsNoUrlOfHttpIsRefused) {
    for (const char* other :
         {"", "host:4318", "ftp://host", "file:///etc/passwd", "http://", "http:///v1",
          "http://:80", "http://a b", "http://host\n", "http://user:secret@host"})
        EXPECT_FALSE(otlp_url(other)) << other;
    EXPECT_EQ(otlp_url("http://user:secret@host").error().message.find("secret"),
              std::string::npos);
    EXPECT_TRUE(otlp_url("http://host/a@b"));
}

using Headers = std::vector<std::string>;

TEST(OtlpTarget, HeadersAreListedAndTheirValuesPercentDecoded) {
    const auto headers =
        otlp_headers("authorization=Bearer%20a%2Cb=, x-tenant = 7 ,,api-key=k%3D1");
    ASSERT_TRUE(headers);
    EXPECT_EQ(*headers, (Headers{"authorization: Bearer a,b=", "x-tenant: 7", "api-key: k=1"}));
    EXPECT_EQ(*otlp_headers(""), Headers{});
}

TEST(OtlpTarget, HeadersThatAreNoneAreRefusedWithoutTheirValues) {
    for (const char* other : {"secret", "=secret", "a b=secret", "key:=secret", "key=secret%",
                              "key=secret%2", "key=secret%zz", "key=secret%0d%0aother: 1",
                              "key=secret%00", "Host=secret", "content-type=secret"}) {
        const auto headers = otlp_headers(other);
        ASSERT_FALSE(headers) << other;
        EXPECT_EQ(headers.error().message.find("secret"), std::string::npos) << other;
    }
}

}  // namespace
}  // namespace pace::pacectl
