// The documents that the library makes by itself. The documents of daemons are tested in
// tests/cluster.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "capi/pace.h"
#include "protocol/options/option_table.h"

namespace pace::capi {
namespace {

std::string query(const char* what) {
    char* json = nullptr;
    pace_error error{};
    EXPECT_EQ(pace_query(nullptr, what, &json, &error), PACE_OK) << error.message;
    std::string text = json == nullptr ? "" : json;
    pace_text_free(json);
    return text;
}

TEST(Query, TellsEveryOptionAndPolicy) {
    const std::string options = query("options");
    for (const protocol::OptionRow& row : protocol::option_table())
        EXPECT_NE(options.find("\"" + std::string(row.name) + "\""), std::string::npos) << row.name;
    EXPECT_NE(options.find("\"family\": \"server\""), std::string::npos);
    EXPECT_NE(options.find("\"family\": \"any\""), std::string::npos);
    const std::string policies = query("policies");
    for (const protocol::PolicyRow& row : protocol::policies())
        EXPECT_NE(policies.find("\"" + std::string(row.word) + "\""), std::string::npos)
            << row.word;
}

TEST(Query, TellsVersions) {
    const std::string version = std::to_string(PACE_VERSION_MAJOR) + "." +
                                std::to_string(PACE_VERSION_MINOR) + "." +
                                std::to_string(PACE_VERSION_PATCH);
    EXPECT_NE(query("versions").find("\"library\": \"" + version + "\""), std::string::npos);
}

TEST(Query, RefusesWhatItCannotTell) {
    char* json = nullptr;
    pace_error error{};
    EXPECT_EQ(pace_query(nullptr, "status", &json, &error), PACE_E_INVALID);
    EXPECT_STREQ(error.argument, "endpoint");
    EXPECT_EQ(pace_query(nullptr, "weather", &json, &error), PACE_E_INVALID);
    EXPECT_STREQ(error.argument, "what");
    EXPECT_NE(std::string_view(error.message).find("weather"), std::string_view::npos);
    EXPECT_EQ(pace_query(nullptr, nullptr, &json, &error), PACE_E_INVALID);
    EXPECT_EQ(pace_query(nullptr, "options", nullptr, &error), PACE_E_INVALID);
    EXPECT_STREQ(error.argument, "ret_json");
    EXPECT_EQ(pace_query("unix:/nonexistent/socket", "status", &json, &error), PACE_E_NOT_FOUND);
    EXPECT_EQ(json, nullptr);
    pace_text_free(nullptr);
}

}  // namespace
}  // namespace pace::capi
