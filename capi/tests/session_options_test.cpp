#include "capi/session_options.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capi/guard.h"

namespace pace::capi {
namespace {

using base::Result;
using protocol::JobOptions;

pace_session_options valid() {
    pace_session_options options = PACE_SESSION_OPTIONS_INIT;
    options.endpoint = "unix:/nonexistent/socket";
    options.job = "fashion";
    options.policy = PACE_POLICY_PARTIAL_REDUCE;
    options.world = 8;
    return options;
}

// Reads the options as a daemon reads them.
Result<JobOptions> read(const char* policy, const std::vector<pace_option>& given) {
    pace_session_options options = valid();
    options.policy = policy;
    options.options = given.data();
    options.option_count = given.size();
    PACE_TRY_ASSIGN(asked, read_session(&options));
    PACE_TRY(client::known_job(asked.job));
    return protocol::read_options(asked.job);
}

// Returns the error that the caller gets.
pace_error refusal(const char* policy, const pace_option& option) {
    pace_error error{};
    guard(&error, [&]() -> Result<> {
        PACE_TRY(read(policy, {option}));
        return {};
    });
    return error;
}

TEST(SessionOptions, FlagsSayHowToResumeAndToBeInterrupted) {
    pace_session_options options = valid();
    options.run = "monday";
    options.flags = PACE_SESSION_RESUME;
    auto asked = read_session(&options);
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_EQ(asked->run.rerun, protocol::client::Rerun::never);
    EXPECT_FALSE(asked->by_signals);
    options.flags = PACE_SESSION_SIGNALS;
    asked = read_session(&options);
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_TRUE(asked->by_signals);
    options.flags = 4;
    asked = read_session(&options);
    ASSERT_FALSE(asked);
    EXPECT_NE(asked.error().message.find("flags"), std::string::npos);
}

TEST(SessionOptions, AreNotMoreThanThereCanBe) {
    const std::vector<pace_option> many(257, PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 3));
    const auto refused = read(PACE_POLICY_PARTIAL_REDUCE, many);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("option_count"), std::string::npos)
        << refused.error().message;
}

TEST(SessionOptions, WhatIsAbsentHasItsDefault) {
    const auto job = read(PACE_POLICY_ALL_REDUCE, {});
    ASSERT_TRUE(job) << job.error().message;
    JobOptions defaults;
    defaults.name = "fashion";
    defaults.world = 8;
    defaults.policy = protocol::Policy::all_reduce;
    EXPECT_EQ(*job, defaults);
    const pace_session_options options = valid();
    const auto asked = read_session(&options);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->connect, std::chrono::seconds(10));
    EXPECT_FALSE(asked->by_signals);
}

TEST(SessionOptions, EachKindOfOptionArrivesAsItself) {
    const uint32_t edges[] = {0, 1, 1, 7};
    const auto graph =
        read(PACE_POLICY_AD_PSGD, {PACE_OPTION_BYTES(PACE_OPT_GROUP_EDGES, edges, sizeof(edges)),
                                   PACE_OPTION_TEXT(PACE_OPT_AVERAGE_WEIGHTS, "dynamic"),
                                   PACE_OPTION_INT(PACE_OPT_AVERAGE_ALPHA, 0)});
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(graph->edges, (std::vector<uint32_t>{0, 1, 1, 7}));
    EXPECT_EQ(graph->weights, protocol::Weights::dynamic);
    EXPECT_EQ(graph->alpha, 0) << "which is not its default";
    const auto sparse =
        read(PACE_POLICY_ALL_REDUCE, {PACE_OPTION_TEXT(PACE_OPT_COMPRESSION, "spardl"),
                                      PACE_OPTION_REAL(PACE_OPT_TOPK_DENSITY, 0.25),
                                      PACE_OPTION_INT(PACE_OPT_TOPK_TEAMS, 2)});
    ASSERT_TRUE(sparse) << sparse.error().message;
    EXPECT_EQ(sparse->density, 0.25);
    EXPECT_EQ(sparse->teams, 2U);
}

TEST(SessionOptions, AWrongOptionIsNamedWithItsValueAndARemedy) {
    struct Row {
        const char* policy;
        pace_option option;
        const char* value;
        const char* remedy;
    };
    const Row rows[] = {
        {PACE_POLICY_FULL, PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 1), "1", "2 to 65536"},
        {PACE_POLICY_FULL, PACE_OPTION_REAL(PACE_OPT_GROUP_SIZE, 3), "a real number",
         "a whole number"},
        {PACE_POLICY_FULL, PACE_OPTION_TEXT(PACE_OPT_AVERAGE_WEIGHTS, "heavy"), "'heavy'",
         "use constant or dynamic"},
        {PACE_POLICY_FULL, PACE_OPTION_TEXT(PACE_OPT_AVERAGE_WEIGHTS, NULL), "NULL", "give a text"},
        {PACE_POLICY_FULL, PACE_OPTION_INT(PACE_OPT_TOPK_TEAMS, 2), "2",
         "leave it out or use policy all-reduce"},
        {PACE_POLICY_FULL, PACE_OPTION_REAL(PACE_OPT_AVERAGE_ALPHA, 0.5), "0.5",
         "average.weights dynamic"},
        {PACE_POLICY_ALL_REDUCE, PACE_OPTION_REAL(PACE_OPT_TOPK_DENSITY, std::nan("")), "nan",
         "at most 1"},
        {PACE_POLICY_AD_PSGD, PACE_OPTION_BYTES(PACE_OPT_GROUP_EDGES, "abc", 3), "3 bytes",
         "pairs of ranks"},
        {PACE_POLICY_AD_PSGD, PACE_OPTION_BYTES(PACE_OPT_GROUP_EDGES, NULL, 8), "NULL",
         "both or neither"},
        {PACE_POLICY_AD_PSGD, PACE_OPTION_BYTES(PACE_OPT_GROUP_EDGES, "", 1U << 30U),
         "1073741824 bytes", "at most"},
    };
    for (const Row& row : rows) {
        const pace_error error = refusal(row.policy, row.option);
        EXPECT_EQ(error.status, PACE_E_INVALID) << row.option.name;
        EXPECT_STREQ(error.argument, row.option.name) << error.message;
        EXPECT_NE(std::string(error.message).find(row.value), std::string::npos) << error.message;
        EXPECT_NE(std::string(error.message).find(row.remedy), std::string::npos) << error.message;
    }
}

TEST(SessionOptions, AnOptionOfNoKindOrWithUnknownFlagsIsRefused) {
    pace_option option = PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 3);
    option.kind = 5;
    EXPECT_STREQ(refusal(PACE_POLICY_FULL, option).argument, PACE_OPT_GROUP_SIZE);
    option.kind = PACE_INT;
    option.flags = 2;
    EXPECT_NE(std::string(refusal(PACE_POLICY_FULL, option).message).find("flags 0x2"),
              std::string::npos);
    option.name = nullptr;
    EXPECT_STREQ(refusal(PACE_POLICY_FULL, option).argument, "options[0].name");
    const std::string long_name(64, 'x');
    option = PACE_OPTION_INT(long_name.c_str(), 3);
    EXPECT_STREQ(refusal(PACE_POLICY_FULL, option).argument, "options[0].name");
}

// A daemon judges only the options that this library does not know.
TEST(SessionOptions, AnUnknownNameIsPassedOnAndAHintIsMarked) {
    pace_option options[] = {PACE_OPTION_INT("topk.depth", 3), PACE_OPTION_INT("topk.width", 3)};
    options[1].flags = PACE_OPTION_HINT;
    pace_session_options given = valid();
    given.options = options;
    given.option_count = 2;
    const auto asked = read_session(&given);
    ASSERT_TRUE(asked);
    EXPECT_TRUE(client::known_job(asked->job));
    ASSERT_EQ(asked->job.values.size(), 2U);
    EXPECT_FALSE(asked->job.values[0].hint);
    EXPECT_TRUE(asked->job.values[1].hint);
}

TEST(SessionOptions, EachBadFieldIsNamed) {
    struct Row {
        const char* argument;
        void (*spoil)(pace_session_options&);
    };
    static const std::string long_name(64, 'x');
    const Row rows[] = {
        {"job", [](pace_session_options& o) { o.job = nullptr; }},
        {"job", [](pace_session_options& o) { o.job = ""; }},
        {"job", [](pace_session_options& o) { o.job = "a b"; }},
        {"job", [](pace_session_options& o) { o.job = long_name.c_str(); }},
        {"world", [](pace_session_options& o) { o.world = 0; }},
        {"world", [](pace_session_options& o) { o.world = 65537; }},
        {"policy", [](pace_session_options& o) { o.policy = nullptr; }},
        {"policy", [](pace_session_options& o) { o.policy = ""; }},
        {"policy", [](pace_session_options& o) { o.policy = long_name.c_str(); }},
        {"flags", [](pace_session_options& o) { o.flags = 8; }},
        {"connect_ms", [](pace_session_options& o) { o.connect_ms = -2; }},
        {"options", [](pace_session_options& o) { o.option_count = 1; }},
        {"endpoint", [](pace_session_options& o) { o.endpoint = "tcp://host"; }},
        {"struct_size", [](pace_session_options& o) { o.struct_size = 0; }},
    };
    for (const Row& row : rows) {
        pace_session_options options = valid();
        row.spoil(options);
        pace_error error{};
        EXPECT_EQ(guard(&error,
                        [&]() -> Result<> {
                            PACE_TRY_ASSIGN(asked, read_session(&options));
                            PACE_TRY(client::known_job(asked.job));
                            return {};
                        }),
                  PACE_E_INVALID)
            << row.argument;
        EXPECT_STREQ(error.argument, row.argument) << error.message;
    }
}

TEST(SessionOptions, AWaitForTheDaemonMayBeNoneOrEndless) {
    pace_session_options options = valid();
    options.connect_ms = 0;
    EXPECT_EQ(read_session(&options)->connect, base::Duration(0));
    for (const int64_t endless : {int64_t{PACE_FOREVER}, std::numeric_limits<int64_t>::max()}) {
        options.connect_ms = endless;
        EXPECT_GT(read_session(&options)->connect, std::chrono::hours(24 * 300));
    }
}

}  // namespace
}  // namespace pace::capi
