#include "capi/options.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace pace::capi {
namespace {

using base::ErrorKind;

constexpr StructName kName{"job", "PACE_JOB_OPTIONS_INIT"};

pace_job_options valid() {
    pace_job_options options = PACE_JOB_OPTIONS_INIT;
    options.name = "fashion";
    options.world = 8;
    return options;
}

TEST(ReadOptions, ANewerCallersStructIsReadIfItsUnknownTailIsZero) {
    struct Newer {
        pace_job_options known;
        uint64_t unknown;
    };
    Newer newer{valid(), 0};
    newer.known.struct_size = sizeof(newer);
    EXPECT_TRUE(read_options(&newer.known, kName));
    newer.unknown = uint64_t{1} << 63U;
    auto refused = read_options(&newer.known, kName);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
    EXPECT_NE(refused.error().message.find("does not know"), std::string::npos);
}

TEST(ReadOptions, AnOlderCallersStructEndsInDefaultsAndIsNotReadPastItsEnd) {
    // Exactly as many bytes as the caller has: a sanitizer sees any more.
    const size_t size = offsetof(pace_job_options, group_wait_ms);
    pace_job_options full = valid();
    full.struct_size = static_cast<uint32_t>(size);
    full.group_wait_ms = 9;
    const std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
    std::memcpy(bytes.get(), &full, size);
    auto options = read_options(reinterpret_cast<const pace_job_options*>(bytes.get()), kName);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->world, 8U);
    EXPECT_EQ(options->group_wait_ms, 0U);
}

TEST(ReadOptions, ASizeThatNoMacroSetNamesTheMacro) {
    for (const uint32_t size : {0U, 1U, 3U, 4097U, std::numeric_limits<uint32_t>::max()}) {
        pace_job_options options = valid();
        options.struct_size = size;
        auto refused = read_options(&options, kName);
        ASSERT_FALSE(refused) << size;
        EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
        EXPECT_NE(refused.error().message.find("PACE_JOB_OPTIONS_INIT"), std::string::npos);
    }
}

TEST(JobOptions, DefaultsAreThoseOfTheHeader) {
    auto job = job_options_of(valid());
    ASSERT_TRUE(job);
    EXPECT_EQ(job->policy, protocol::client::Policy::partial_reduce);
    EXPECT_EQ(job->weights, protocol::client::Weights::constant);
    EXPECT_EQ(job->missing, protocol::client::Missing::closest);
    EXPECT_EQ(job->alpha, 0.5);
    pace_job_options zero = valid();
    zero.has_alpha = 1;
    EXPECT_EQ(job_options_of(zero)->alpha, 0.0);
}

TEST(JobOptions, EachBadFieldIsNamed) {
    struct Row {
        const char* word;
        void (*spoil)(pace_job_options&);
    };
    static const std::string long_name(64, 'x');
    const Row rows[] = {
        {"name", [](pace_job_options& o) { o.name = nullptr; }},
        {"name", [](pace_job_options& o) { o.name = ""; }},
        {"name", [](pace_job_options& o) { o.name = "a b"; }},
        {"name", [](pace_job_options& o) { o.name = long_name.c_str(); }},
        {"world", [](pace_job_options& o) { o.world = 0; }},
        {"world", [](pace_job_options& o) { o.world = 65537; }},
        {"policy", [](pace_job_options& o) { o.policy = 3; }},
        {"policy", [](pace_job_options& o) { o.policy = -1; }},
        {"weights", [](pace_job_options& o) { o.weights = 3; }},
        {"missing", [](pace_job_options& o) { o.missing = 3; }},
        {"has_alpha", [](pace_job_options& o) { o.has_alpha = 2; }},
        {"has_alpha", [](pace_job_options& o) { o.alpha = 0.25; }},
        {"reserved", [](pace_job_options& o) { o.reserved = 1; }},
        {"alpha",
         [](pace_job_options& o) {
             o.has_alpha = 1;
             o.alpha = 1.0;
         }},
        {"alpha",
         [](pace_job_options& o) {
             o.has_alpha = 1;
             o.alpha = std::numeric_limits<double>::quiet_NaN();
         }},
    };
    for (const Row& row : rows) {
        pace_job_options options = valid();
        row.spoil(options);
        auto refused = job_options_of(options);
        ASSERT_FALSE(refused) << row.word;
        EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
        EXPECT_NE(refused.error().message.find(row.word), std::string::npos)
            << refused.error().message;
    }
}

}  // namespace
}  // namespace pace::capi
