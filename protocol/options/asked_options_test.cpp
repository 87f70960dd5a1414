#include "protocol/options/asked_options.h"

#include <cmath>

#include <gtest/gtest.h>

#include "protocol/options/option_table.h"

namespace pace::protocol {
namespace {

AskedOptions asked(std::string policy, std::vector<OptionValue> values) {
    AskedOptions options("fashion", 8, std::move(policy));
    options.values = std::move(values);
    return options;
}

std::string error_of(const AskedOptions& options) {
    const auto read = read_options(options);
    return read ? "" : read.error().message;
}

TEST(AskedOptions, WhatIsAbsentHasItsDefault) {
    const auto options = read_options(asked("partial-reduce", {}));
    ASSERT_TRUE(options);
    JobOptions expected;
    expected.name = "fashion";
    expected.world = 8;
    EXPECT_EQ(*options, expected);
}

TEST(AskedOptions, ZeroCanBeAskedFor) {
    const auto averages = read_options(asked(
        "partial-reduce", {{"average.weights", std::string("dynamic")}, {"average.alpha", 0.0}}));
    ASSERT_TRUE(averages) << averages.error().message;
    EXPECT_EQ(averages->alpha, 0.0);
    const auto served =
        read_options(asked("ssp", {{"server.filter", 0.0}, {"server.staleness", int64_t{0}}}));
    ASSERT_TRUE(served) << served.error().message;
    EXPECT_EQ(served->filter, 0.0);
    EXPECT_EQ(served->staleness, 0U);
}

TEST(AskedOptions, AnIntegerDoesForARealNumber) {
    const auto options = read_options(asked(
        "all-reduce", {{"compression", std::string("spardl")}, {"topk.density", int64_t{1}}}));
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->density, 1.0);
}

TEST(AskedOptions, AnUnknownNameIsRefusedWithTheNearest) {
    EXPECT_EQ(error_of(asked("full", {{"group.sice", int64_t{3}}})),
              "there is no option 'group.sice'; is group.size meant?");
    EXPECT_EQ(error_of(asked("full", {{"density", 0.1}})),
              "there is no option 'density'; is topk.density meant?");
    EXPECT_NE(error_of(asked("full", {{"quixotic.zebra", 0.1}})).find("`pacectl options` lists"),
              std::string::npos);
    // Bytes that are not printable must not reach a terminal.
    EXPECT_EQ(error_of(asked("full", {{"\x1b[2J", 0.1}})).find('\x1b'), std::string::npos);
}

TEST(AskedOptions, AHintOfAnUnknownNameIsPassedOver) {
    EXPECT_TRUE(read_options(asked("full", {{"later.than_this", int64_t{3}, true}})));
    // A hint with a known name is used, and must be right.
    EXPECT_NE(error_of(asked("partial-reduce", {{"group.size", int64_t{0}, true}})), "");
}

TEST(AskedOptions, AnotherKindIsRefused) {
    EXPECT_EQ(error_of(asked("partial-reduce", {{"group.size", std::string("3")}})),
              "group.size is a text; give a whole number, 2 to 65536");
    EXPECT_EQ(error_of(asked("partial-reduce", {{"group.size", 3.0}})),
              "group.size is a real number; give a whole number, 2 to 65536");
    EXPECT_EQ(error_of(asked("all-reduce", {{"quorum", int64_t{2}}})),
              "quorum is an integer; give all, solo, majority, majority-strict or count");
}

TEST(AskedOptions, AValueOutOfItsBoundsIsRefused) {
    EXPECT_EQ(error_of(asked("partial-reduce", {{"group.size", int64_t{1}}})),
              "group.size is 1; give a whole number, 2 to 65536");
    EXPECT_EQ(error_of(asked("partial-reduce", {{"group.wait_ms", int64_t{0}}})),
              "group.wait_ms is 0; give a whole number, 1 to 4294967295, or leave it out for the "
              "default");
    EXPECT_EQ(error_of(asked("partial-reduce", {{"group.size", int64_t{-1}}})),
              "group.size is -1; give a whole number, 2 to 65536");
    for (const double wrong : {0.0, -0.1, 1.5, std::nan(""), HUGE_VAL}) {
        EXPECT_NE(error_of(asked("all-reduce", {{"topk.density", wrong}}))
                      .find("give a number above 0 and at most 1"),
                  std::string::npos)
            << wrong;
    }
    EXPECT_EQ(error_of(asked("all-reduce", {{"quorum", std::string("few")}})),
              "quorum is 'few'; use all, solo, majority, majority-strict or count");
    EXPECT_NE(error_of(asked("ad-psgd", {{"group.edges", std::vector<uint8_t>(12)}})), "");
    EXPECT_NE(error_of(asked("ad-psgd", {{"group.edges", std::vector<uint8_t>{}}})), "");
}

TEST(AskedOptions, OneOfAnotherFamilyIsRefusedByNameThoughItIsTheDefault) {
    EXPECT_EQ(error_of(asked("all-reduce", {{"average.alpha", 0.5}})),
              "average.alpha is 0.5, but it counts with policy partial-reduce, prague-random, "
              "prague-smart, ad-psgd, full or auto alone; leave it out or use policy "
              "partial-reduce, prague-random, prague-smart, ad-psgd, full or auto");
    EXPECT_EQ(error_of(asked("bsp", {{"server.staleness", int64_t{3}}})),
              "server.staleness is 3, but it counts with policy ssp alone; leave it out or use "
              "policy ssp");
    EXPECT_EQ(
        error_of(asked("partial-reduce", {{"average.alpha", 0.5}})),
        "average.alpha is 0.5, but it counts with average.weights dynamic alone; leave it out "
        "or use average.weights dynamic");
    EXPECT_EQ(
        error_of(asked("all-reduce", {{"topk.density", 0.5}})),
        "topk.density is 0.5, but it counts with compression spardl, topka, topkdsa, gtopk or "
        "oktopk alone; leave it out or use compression spardl, topka, topkdsa, gtopk or "
        "oktopk");
}

TEST(AskedOptions, OneThatIsGivenTwiceIsRefused) {
    EXPECT_EQ(error_of(asked(
                  "full", {{"worker.timeout_ms", int64_t{1}}, {"worker.timeout_ms", int64_t{1}}})),
              "worker.timeout_ms is given twice; give it once");
}

TEST(AskedOptions, APolicyThatIsNoneIsRefused) {
    EXPECT_NE(error_of(asked("", {})).find("policy is ''; use all-reduce, partial-reduce"),
              std::string::npos);
    EXPECT_NE(error_of(asked("sgd", {})).find("policy is 'sgd'"), std::string::npos);
}

// For every policy, with every option that counts set to another value than its default.
TEST(AskedOptions, ComeBackAsTheyWereWritten) {
    for (const PolicyRow& policy : policies()) {
        JobOptions options;
        options.name = "fashion";
        options.world = 8;
        options.policy = policy.policy;
        options.weights = Weights::dynamic;
        options.quorum = Quorum::count;
        options.compression = Compression::spardl;
        options.rate = Rate::constant;
        for (const OptionRow& row : option_table()) {
            OptionValue value = value_of(row, options);
            if (row.field.kind == OptionKind::integer)
                value.value = row.greatest == 1 ? int64_t{1} : int64_t{2};
            if (row.field.kind == OptionKind::real) value.value = 0.25;
            if (row.field.kind == OptionKind::bytes) value.value = std::vector<uint8_t>(8, 1);
            row.field.write(options, value);
        }
        const AskedOptions written = write_options(options);
        const auto read = read_options(written);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(write_options(*read), written);
        EXPECT_EQ(differences_of(*read, options), "");
    }
}

TEST(AskedOptions, OfAJobAreWhatDiffersFromTheDefaults) {
    JobOptions options;
    options.name = "fashion";
    options.world = 4;
    options.policy = Policy::prague_smart;
    options.group_size = 2;
    const AskedOptions written(options);
    EXPECT_EQ(written.policy, "prague-smart");
    ASSERT_EQ(written.values.size(), 1U);
    EXPECT_EQ(written.values[0], (OptionValue{"group.size", int64_t{2}}));
}

TEST(AskedOptions, DifferencesAreNamed) {
    JobOptions ours;
    ours.world = 8;
    JobOptions theirs = ours;
    theirs.world = 4;
    theirs.group_wait_ms = 7;
    theirs.group_min = 3;
    EXPECT_EQ(
        differences_of(ours, theirs),
        "world 8 (the job has 4), group.min 2 (the job has 3), group.wait_ms its default (the "
        "job has 7)");
}

}  // namespace
}  // namespace pace::protocol
