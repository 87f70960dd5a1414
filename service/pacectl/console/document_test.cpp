#include "service/pacectl/console/document.h"

#include <gtest/gtest.h>

#include "service/pacectl/status/daemon_text.h"

namespace pace::pacectl {
namespace {

TEST(Document, WhatIsMissingOrOfAnotherKindHasAFallback) {
    const Json json = {{"a", "text"}, {"b", 7U}, {"c", true}, {"d", {1, 2}}, {"e", nullptr}};
    EXPECT_EQ(text(json, "a"), "text");
    EXPECT_EQ(text(json, "b"), "7");
    EXPECT_EQ(text(json, "d"), "-");
    EXPECT_EQ(text(json, "missing", "none"), "none");
    EXPECT_EQ(text(Json(3), "a"), "-");
    EXPECT_EQ(number(json, "a", -1), -1);
    EXPECT_EQ(count(json, "b"), 7U);
    EXPECT_EQ(count(json, "a"), 0U);
    EXPECT_TRUE(truth(json, "c"));
    EXPECT_FALSE(truth(json, "b"));
    EXPECT_EQ(list(json, "d").size(), 2U);
    EXPECT_TRUE(list(json, "a").empty());
    EXPECT_TRUE(member(json, "e").is_null());
}

TEST(Document, NoTextReachesTheTerminalRaw) {
    const Json json = {{"name", "a\033[31mb\nc"}};
    EXPECT_EQ(text(json, "name"), "a?[31mb?c");
    EXPECT_EQ(printable("\xC2\x9B"
                        "31m"),
              "?31m")
        << "one control character of two bytes";
    EXPECT_EQ(printable("\x9B"
                        "31m"),
              "?31m")
        << "no UTF-8";
    EXPECT_EQ(printable("\xE2\x80"), "??") << "cut off";
    EXPECT_EQ(printable("\xC0\x9B"), "??") << "overlong";
    EXPECT_EQ(printable("é…𝄞\xC2\xA0."), "é…𝄞\xC2\xA0.");
}

TEST(Document, OnlyAnObjectIsADocument) {
    EXPECT_TRUE(parse_document("{}"));
    for (const char* bad : {"", "[]", "7", "{", "{\"a\":}", "\xff"})
        EXPECT_EQ(parse_document(bad).error().kind, base::ErrorKind::corrupt) << bad;
}

TEST(Document, QuantitiesAreWrittenForPeople) {
    EXPECT_EQ(duration_text(-1), "-");
    EXPECT_EQ(duration_text(0.25), "250 us");
    EXPECT_EQ(duration_text(12.34), "12.3 ms");
    EXPECT_EQ(duration_text(1500), "1.5 s");
    EXPECT_EQ(duration_text(600'000), "10 min");
    EXPECT_EQ(bytes_text(512), "512 B");
    EXPECT_EQ(bytes_text(8.0 * (1 << 30)), "8.0 GiB");
}

TEST(DaemonText, NamesTheControllerAndEveryClient) {
    const Json daemon = {
        {"version", "0.1.0"},
        {"name", "n1"},
        {"pid", 42U},
        {"controller", {{"endpoint", "tcp://h:1"}, {"reachable", false}, {"embedded", false}}},
        {"clients", {{{"pid", 77U}, {"job", "fashion"}, {"rank", 3U}, {"bytes", 1048576U}}}},
        {"limits", {{"client_bytes_max", 1073741824U}}}};
    const std::string shown = daemon_text(daemon);
    EXPECT_NE(shown.find("tcp://h:1 (does not answer)"), std::string::npos);
    EXPECT_NE(shown.find("77"), std::string::npos);
    EXPECT_NE(shown.find("1.0 MiB"), std::string::npos);
    EXPECT_NE(shown.find("1.0 GiB"), std::string::npos);
    EXPECT_FALSE(daemon_text(Json::object()).empty());
}

}  // namespace
}  // namespace pace::pacectl
