#include "service/controller/shell/settings/controller_settings.h"

#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "service/http/options.h"
#include "settings/log_level.h"
#include "settings/other_value.h"

namespace pace::controller {
namespace {

settings::Settings usual() {
    settings::Settings settings(settings::controller_table());
    // Without a seed, each configuration has another one.
    settings.set(*settings::find(settings::controller_table(), "seed"), int64_t{7}, "test");
    return settings;
}

// All that the program takes from its settings.
auto configuration_of(const settings::Settings& settings) {
    const http::Options http = http::options_from(settings);
    return std::tuple(controller_config(settings), settings::log_level_of(settings), http.listen,
                      http.users, http.token_file, http.operator_token_file, http.tls_certificate,
                      http.tls_key);
}

TEST(ControllerSettings, HaveAnEffectEach) {
    const auto before = configuration_of(usual());
    for (const settings::Setting& setting : settings::controller_table().settings) {
        settings::Settings settings = usual();
        settings.set(setting, settings::other_value_of(setting), "test");
        EXPECT_FALSE(configuration_of(settings) == before) << setting.name;
    }
}

TEST(ControllerSettings, SayTheSeedOrHaveOneDrawn) {
    EXPECT_EQ(controller_config(usual()).seed, 7U);
    const settings::Settings none(settings::controller_table());
    EXPECT_NE(controller_config(none).seed, controller_config(none).seed);
}

TEST(ControllerSettings, ThatNobodyGivesAreTheDefaultsOfTheConfiguration) {
    ControllerConfig expected;
    expected.listen = controller_config(usual()).listen;
    expected.journal = "/var/lib/pace-controller/controller.journal";
    expected.seed = 7;
    EXPECT_TRUE(controller_config(usual()) == expected);
}

}  // namespace
}  // namespace pace::controller
