#include "daemon/config.h"

#include <gtest/gtest.h>

#include "settings/sources.h"

namespace pace::daemon {
namespace {

base::Result<NodeConfig> config_from(const std::string& toml) {
    settings::Settings settings(settings::daemon_table());
    PACE_TRY(settings::apply_toml(settings, toml, "test.toml"));
    return node_config(settings);
}

TEST(NodeConfig, HasNoZoneUnlessOneIsGiven) {
    EXPECT_EQ(config_from("").value().zone, "");
    EXPECT_EQ(config_from("zone = \"dc1/row-2/rack_3.b\"").value().zone, "dc1/row-2/rack_3.b");
    const std::string longest(63, 'z');
    EXPECT_EQ(config_from("zone = \"" + longest + "\"").value().zone, longest);
}

TEST(NodeConfig, ABadZoneIsRefusedByNameAndOrigin) {
    for (const std::string& zone :
         {std::string("rack 3"), std::string(64, 'z'), std::string("ü")}) {
        const auto config = config_from("zone = \"" + zone + "\"");
        ASSERT_FALSE(config) << zone;
        EXPECT_EQ(config.error().kind, base::ErrorKind::invalid);
        EXPECT_NE(config.error().message.find("zone \"" + zone + "\""), std::string::npos)
            << config.error().message;
        EXPECT_NE(config.error().message.find("test.toml"), std::string::npos)
            << config.error().message;
    }
}

TEST(NodeConfig, ABadNameIsRefused) {
    EXPECT_FALSE(config_from("name = \"a/b\""));
    EXPECT_EQ(config_from("name = \"a.b-c_1\"").value().name, "a.b-c_1");
}

TEST(NodeConfig, NcclIsUsedUnlessItIsOff) {
    EXPECT_TRUE(config_from("").value().nccl);
    EXPECT_EQ(config_from("").value().exchange.nccl_communicators, 16U);
    EXPECT_EQ(config_from("").value().exchange.nccl, 0U) << "nothing was looked for yet";
    EXPECT_FALSE(config_from("nccl = \"off\"").value().nccl);
    EXPECT_FALSE(config_from("nccl = \"on\""));
    EXPECT_EQ(config_from("nccl_communicators = 64").value().exchange.nccl_communicators, 64U);
    EXPECT_FALSE(config_from("nccl_communicators = 0"));
    EXPECT_FALSE(config_from("nccl_communicators = 65"));
}

}  // namespace
}  // namespace pace::daemon
