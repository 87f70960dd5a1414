#include "service/controller/shell/settings/listen_policy.h"

#include <string>

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

TEST(ListenPolicy, LoopbackNeedsNothing) {
    const ControllerConfig config;
    for (const char* endpoint : {"tcp://127.0.0.1:0", "tcp://127.8.9.1:7411", "tcp://[::1]:7411",
                                 "inproc://here", "ipc:///run/pace/control"}) {
        const auto bound = listenable(endpoint, config);
        ASSERT_TRUE(bound) << bound.error().message;
        EXPECT_EQ(*bound, endpoint);
    }
    EXPECT_EQ(*listenable("tcp://localhost:9", config), "tcp://127.0.0.1:9");
}

TEST(ListenPolicy, OffLoopbackNeedsKeysOrTheWordInsecure) {
    ControllerConfig config;
    for (const char* endpoint :
         {"tcp://10.0.0.1:7411", "tcp://[2001:db8::1]:7411", "tcp://[::ffff:10.0.0.1]:7411"}) {
        const auto refused = listenable(endpoint, config);
        ASSERT_FALSE(refused) << endpoint;
        EXPECT_EQ(refused.error().kind, base::ErrorKind::denied);
        EXPECT_NE(refused.error().message.find("pacectl keygen"), std::string::npos);
    }
    config.insecure = true;
    EXPECT_TRUE(listenable("tcp://10.0.0.1:7411", config));
    config.insecure = false;
    config.curve_secret_file = "/some/key";
    config.curve_allowed_dir = "/some/keys";
    EXPECT_TRUE(listenable("tcp://10.0.0.1:7411", config));
}

TEST(ListenPolicy, OffLoopbackTheKeysThatMayConnectAreListed) {
    ControllerConfig config;
    config.curve_secret_file = "/some/key";
    const auto refused = listenable("tcp://10.0.0.1:7411", config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::denied);
    EXPECT_NE(refused.error().message.find("curve_allowed_dir"), std::string::npos);
    EXPECT_TRUE(listenable("tcp://127.0.0.1:7411", config));
    config.insecure = true;
    EXPECT_TRUE(listenable("tcp://10.0.0.1:7411", config));
}

TEST(ListenPolicy, EveryInterfaceIsOnlyListenedOnWhenAsked) {
    ControllerConfig config;
    config.insecure = true;
    for (const char* endpoint :
         {"tcp://*:7411", "tcp://0.0.0.0:7411", "tcp://[::]:7411", "tcp://[::ffff:0.0.0.0]:1"}) {
        const auto refused = listenable(endpoint, config);
        ASSERT_FALSE(refused) << endpoint;
        EXPECT_NE(refused.error().message.find("any_interface"), std::string::npos);
    }
    config.any_interface = true;
    EXPECT_TRUE(listenable("tcp://0.0.0.0:7411", config));
    config.insecure = false;
    EXPECT_FALSE(listenable("tcp://0.0.0.0:7411", config));
}

TEST(ListenPolicy, NonsenseIsRefusedWithItsTextAlsoWhereItIsInsecure) {
    ControllerConfig config;
    config.insecure = true;
    for (const char* endpoint :
         {"", "127.0.0.1:80", "udp://127.0.0.1:80", "tcp://127.0.0.1", "tcp://:80",
          "tcp://127.0.0.1:port", "tcp://127.0.0.1:65536", "tcp://eth0:80", "tcp://host.name:80",
          "tcp://127.0.0.1:-1", "tcp://"}) {
        const auto refused = listenable(endpoint, config);
        ASSERT_FALSE(refused) << endpoint;
        EXPECT_EQ(refused.error().kind, base::ErrorKind::invalid);
        EXPECT_NE(refused.error().message.find(endpoint), std::string::npos);
    }
}

}  // namespace
}  // namespace pace::controller
