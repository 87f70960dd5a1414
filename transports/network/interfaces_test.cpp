#include "transports/network/interfaces.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace pace::transports {
namespace {

std::string error_of(std::string_view text, base::ErrorKind kind) {
    const auto devices = resolve_devices(text);
    EXPECT_FALSE(devices) << text;
    if (devices) return {};
    EXPECT_EQ(devices.error().kind, kind) << text;
    return devices.error().message;
}

std::string devices_of(std::string_view text) {
    const auto devices = resolve_devices(text);
    EXPECT_TRUE(devices) << text << ": " << (devices ? "" : devices.error().message);
    return devices ? *devices : "";
}

TEST(Devices, NothingMeansLoopbackAlone) {
    EXPECT_EQ(devices_of(""), "lo");
}

TEST(Devices, ANameAnAddressAndASubnetNameTheSameInterface) {
    for (const auto* text :
         {"lo", "127.0.0.1", "127.0.0.0/8", "127.0.0.1/32", "127.9.9.9/8", "lo,127.0.0.1"})
        EXPECT_EQ(devices_of(text), "lo") << text;
}

TEST(Devices, AddressesAreThoseThatAreNamed) {
    const auto addresses_of = [](std::string_view text) {
        const auto addresses = resolve_addresses(text);
        return addresses ? fmt::format("{}", fmt::join(*addresses, ","))
                         : addresses.error().message;
    };
    for (const auto* text : {"", "lo", "127.0.0.1", "127.0.0.0/8", "lo,127.0.0.1"})
        EXPECT_EQ(addresses_of(text), "127.0.0.1") << text;
    EXPECT_NE(addresses_of("203.0.113.0/24").find("lo (127.0.0.1"), std::string::npos);
    EXPECT_NE(addresses_of("lo,").find("empty interface"), std::string::npos);
}

TEST(Devices, AnErrorListsTheInterfacesThatExist) {
    for (const auto* text :
         {"nope0", "203.0.113.7", "203.0.113.0/24", "2001:db8::/32", "lo,nope0"}) {
        const std::string message = error_of(text, base::ErrorKind::not_found);
        EXPECT_NE(message.find("lo (127.0.0.1"), std::string::npos) << message;
    }
}

TEST(Devices, OnlyLoopbackIsLoopback) {
    EXPECT_TRUE(are_loopback("lo"));
    for (const auto* text : {"", "nope0", "lo,nope0", "nope0,lo"})
        EXPECT_FALSE(are_loopback(text)) << text;
}

TEST(Devices, WhatIsNoSubnetIsRefused) {
    for (const auto* text : {"127.0.0.1/", "127.0.0.1/33", "127.0.0.1/8x", "::1/129", "10.0/8",
                             "lo/8", "lo,", ",", "127.0.0.1/-1"})
        error_of(text, base::ErrorKind::invalid);
}

}  // namespace
}  // namespace pace::transports
