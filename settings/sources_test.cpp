#include "settings/sources.h"

#include <gtest/gtest.h>

namespace pace::settings {
namespace {

std::string toml_error(std::string_view document) {
    Settings settings(daemon_table());
    const auto result = apply_toml(settings, document, "paced.toml");
    return result ? "accepted" : result.error().message;
}

TEST(TomlSource, ReadsEveryKind) {
    constexpr Setting kAll[] = {
        {.name = "text", .kind = Kind::text, .initial = ""},
        {.name = "truth", .kind = Kind::boolean, .initial = "false"},
        {.name = "count", .kind = Kind::integer, .initial = "1", .min = 1, .max = 9},
        {.name = "wait_ms", .kind = Kind::milliseconds, .initial = "0", .min = 0, .max = 9000},
        {.name = "room", .kind = Kind::bytes, .initial = "0", .min = 0, .max = 1 << 20},
        {.name = "names", .kind = Kind::list, .initial = ""},
    };
    const Table table{
        .program = "p", .summary = "", .file = "", .environment_prefix = "P_", .settings = kAll};
    Settings settings(table);
    const auto result = apply_toml(settings,
                                   "text = 'ü'\ntruth = true\ncount = 9\nwait_ms = '2 s'\n"
                                   "room = '64 KiB'\nnames = ['a', 'b']\n",
                                   "p.toml");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(settings.text("text"), "ü");
    EXPECT_TRUE(settings.enabled("truth"));
    EXPECT_EQ(settings.integer("count"), 9);
    EXPECT_EQ(settings.milliseconds("wait_ms"), std::chrono::seconds(2));
    EXPECT_EQ(settings.bytes("room"), 65536U);
    EXPECT_EQ(settings.list("names"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(settings.origin("names"), "p.toml:6");
}

TEST(TomlSource, ErrorsNameFileLineKeyValueAndBounds) {
    EXPECT_EQ(toml_error("\n\nheartbeat_ms = 5\n"),
              "paced.toml:3: heartbeat_ms = 5: give 10 .. 60000 ms");
    EXPECT_EQ(toml_error("insecure = 'yes'"),
              "paced.toml:1: insecure = \"yes\": give true or false");
    EXPECT_EQ(toml_error("threads = 1.5"), "paced.toml:1: threads = 1.5: give 0 .. 1024");
    EXPECT_EQ(toml_error("chunk_bytes = '1 KiB'"),
              "paced.toml:1: chunk_bytes = \"1 KiB\": give 4 KiB .. 64 MiB");
    EXPECT_EQ(toml_error("name = [1]"), "paced.toml:1: name = […]: give a text");
    EXPECT_EQ(toml_error("name = 'x'\nname = 'y'").substr(0, 22), "paced.toml:2: not TOML");
}

TEST(TomlSource, AnUnknownKeyIsAnErrorThatNamesTheNearest) {
    EXPECT_EQ(toml_error("sokcet = '/x'"),
              "paced.toml:1: there is no setting 'sokcet'; did you mean 'socket'? "
              "`paced --help-config` lists all");
    EXPECT_NE(toml_error("heartbeat = 3").find("did you mean 'heartbeat_ms'?"), std::string::npos);
    EXPECT_EQ(
        toml_error("quixotic_zebra = 3"),
        "paced.toml:1: there is no setting 'quixotic_zebra'; `paced --help-config` lists all");
    EXPECT_NE(toml_error("[daemon]\nsocket = '/x'"), "accepted");
}

TEST(TomlSource, HostileDocumentsAreErrorsNotCrashes) {
    EXPECT_NE(toml_error("name = '\x01'"), "accepted");
    EXPECT_NE(toml_error("[[[a]]]\nb = 1"), "accepted");
    EXPECT_NE(toml_error("name = \"a\\u0000b\""), "accepted");
    EXPECT_NE(toml_error(std::string("name = \xFF\xFE\0x", 11)), "accepted");
    EXPECT_NE(toml_error("1list\xCD\x96st = 2"), "accepted");
    EXPECT_EQ(toml_error("name = \"a\\\"ß\" # ß"), "accepted");
    EXPECT_NE(toml_error("threads = 99999999999999999999999"), "accepted");
    EXPECT_NE(toml_error("client_bytes_max = '9223372036854775807 TiB'"), "accepted");
    EXPECT_NE(toml_error("name = " + std::string(5000, '[')), "accepted");
    EXPECT_NE(toml_error("name = '" + std::string(kTextBytesMax + 1, 'x') + "'"), "accepted");
    std::string deep = "a";
    for (int i = 0; i < 3000; ++i) deep += ".a";
    EXPECT_NE(toml_error(deep + " = 1"), "accepted");
}

TEST(Values, QuantitiesHaveUnitsAndNoNonsense) {
    const Setting bytes{.name = "b", .kind = Kind::bytes, .initial = "0", .min = 0, .max = 1 << 30};
    EXPECT_EQ(std::get<int64_t>(*parse_text(bytes, " 3 MiB ")), 3 << 20);
    EXPECT_EQ(std::get<int64_t>(*parse_text(bytes, "2MB")), 2'000'000);
    EXPECT_EQ(std::get<int64_t>(*parse_text(bytes, "17")), 17);
    for (const char* text : {"", "-1", "+1", "1e3", "0x10", "1 mib", "1 Mi B", "MiB", "2 GiB"})
        EXPECT_FALSE(parse_text(bytes, text)) << text;
    const Setting wait{
        .name = "w", .kind = Kind::milliseconds, .initial = "0", .min = 0, .max = 100'000};
    EXPECT_EQ(std::get<int64_t>(*parse_text(wait, "1min")), 60'000);
    EXPECT_FALSE(parse_text(wait, "1 h"));
}

TEST(Values, BytesAreWrittenAsPeopleSayThem) {
    EXPECT_EQ(format_bytes(0), "0");
    EXPECT_EQ(format_bytes(1000), "1000");
    EXPECT_EQ(format_bytes(8LL << 30), "8 GiB");
    EXPECT_EQ(format_bytes(1536), "1536");
}

}  // namespace
}  // namespace pace::settings
