#include <algorithm>
#include <cctype>
#include <set>

#include <gtest/gtest.h>

#include "settings/sources.h"

namespace pace::settings {
namespace {

class Tables : public testing::TestWithParam<std::string> {
  protected:
    const Table& table() const {
        return GetParam() == "Daemon" ? daemon_table() : controller_table();
    }
};

TEST_P(Tables, EveryDefaultIsWithinItsBounds) {
    for (const Setting& setting : table().settings) {
        const auto value = parse_text(setting, setting.initial);
        EXPECT_TRUE(value) << setting.name;
    }
}

TEST_P(Tables, EveryNameIsLowerCaseAndThereOnceAndExplained) {
    std::set<std::string_view> names;
    for (const Setting& setting : table().settings) {
        EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " is there twice";
        EXPECT_TRUE(std::all_of(setting.name.begin(), setting.name.end(), [](char c) {
            return std::islower(static_cast<unsigned char>(c)) || c == '_';
        })) << setting.name;
        EXPECT_TRUE(setting.help.ends_with('.')) << setting.name;
        const bool names_its_unit =
            setting.kind != Kind::milliseconds || setting.name.ends_with("_ms");
        EXPECT_TRUE(names_its_unit) << setting.name;
    }
}

// The output of --help-config, uncommented, is the configuration of a program without a file.
TEST_P(Tables, HelpConfigIsTheDefaultsAsAFile) {
    std::string document = help_config(table());
    std::string uncommented;
    size_t settings_seen = 0;
    for (size_t start = 0; start < document.size();) {
        const size_t end = document.find('\n', start);
        const std::string line = document.substr(start, end - start);
        EXPECT_LE(line.size(), 100U) << line;
        const bool is_setting = line.starts_with('#') && !line.starts_with("# ");
        if (is_setting) ++settings_seen;
        uncommented += (is_setting ? line.substr(1) : line) + '\n';
        start = end + 1;
    }
    EXPECT_EQ(settings_seen, table().settings.size());
    Settings from_document(table());
    const auto result = apply_toml(from_document, uncommented, "help-config");
    EXPECT_TRUE(result) << result.error().message;
    Settings untouched(table());
    EXPECT_TRUE(apply_toml(untouched, document, "help-config"));
}

INSTANTIATE_TEST_SUITE_P(Of, Tables, testing::Values("Daemon", "Controller"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace pace::settings
