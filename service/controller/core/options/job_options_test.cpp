#include "service/controller/core/options/job_options.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

TEST(JobOptions, HaveDefaultsFilledIn) {
    const auto options = check(averaging(8));
    ASSERT_TRUE(options);
    EXPECT_EQ(options->group_size, 3U);
    EXPECT_EQ(options->group_min, 2U);
    EXPECT_EQ(options->history_window, 8U);  // twice ceil(7 / 2)
    EXPECT_EQ(check(averaging(2))->group_size, 2U);
    EXPECT_EQ(check(*options).value(), *options);  // checking twice changes nothing
}

TEST(JobOptions, AreAcceptedForEveryWorldAndGroupSize) {
    for (uint32_t world = 1; world <= 17; ++world) {
        EXPECT_TRUE(check(reducing(world)));
        for (uint32_t size = 2; size <= world; ++size) EXPECT_TRUE(check(averaging(world, size)));
    }
    EXPECT_TRUE(check(averaging(1)));
    EXPECT_TRUE(check(averaging(65536)));
}

struct Refusal {
    const char* names;  // what the message must contain
    std::function<void(JobOptions&)> spoil;
};

TEST(JobOptions, AreRefusedWithASentenceThatNamesOptionAndValue) {
    const std::vector<Refusal> refusals = {
        {"name is empty", [](JobOptions& o) { o.name = ""; }},
        {"name has 64 bytes", [](JobOptions& o) { o.name = std::string(64, 'x'); }},
        {"name has a byte", [](JobOptions& o) { o.name = "a/b"; }},
        {"name is ..", [](JobOptions& o) { o.name = ".."; }},
        {"world is 0", [](JobOptions& o) { o.world = 0; }},
        {"world is 65537", [](JobOptions& o) { o.world = 65537; }},
        {"policy is '?'", [](JobOptions& o) { o.policy = static_cast<Policy>(12); }},
        {"average.weights is '?'", [](JobOptions& o) { o.weights = static_cast<Weights>(9); }},
        {"average.missing is '?'", [](JobOptions& o) { o.missing = static_cast<Missing>(9); }},
        {"group.size is 1", [](JobOptions& o) { o.group_size = 1; }},
        {"group.size is 9", [](JobOptions& o) { o.group_size = 9; }},
        {"group.min is 1", [](JobOptions& o) { o.group_min = 1; }},
        {"group.min is 4", [](JobOptions& o) { o.group_min = 4; }},
        {"average.alpha is 1", [](JobOptions& o) { o.alpha = 1; }},
        {"average.alpha is -0.1", [](JobOptions& o) { o.alpha = -0.1; }},
        {"average.alpha is nan", [](JobOptions& o) { o.alpha = std::nan(""); }},
        {"average.missing is initial", [](JobOptions& o) { o.missing = Missing::initial; }},
        {"average.alpha is 0.9", [](JobOptions& o) { o.alpha = 0.9; }},
        {"average.alpha is 0", [](JobOptions& o) { o.alpha = 0; }},
        {"average.alpha is 1",
         [](JobOptions& o) {
             o.weights = Weights::dynamic;
             o.alpha = 1;
         }},
        {"group.window is 3", [](JobOptions& o) { o.history_window = 3; }},
        {"group.window is 4000000000", [](JobOptions& o) { o.history_window = 4000000000; }},
    };
    for (const Refusal& refusal : refusals) {
        JobOptions options = averaging(8);
        refusal.spoil(options);
        const auto checked = check(options);
        ASSERT_FALSE(checked) << refusal.names;
        EXPECT_EQ(checked.error().kind, base::ErrorKind::invalid);
        EXPECT_NE(checked.error().message.find(refusal.names), std::string::npos)
            << checked.error().message;
    }
}

TEST(JobOptions, OfGroupsAreRefusedForAllReduce) {
    const std::vector<Refusal> refusals = {
        {"group.size is 3", [](JobOptions& o) { o.group_size = 3; }},
        {"group.min is 3", [](JobOptions& o) { o.group_min = 3; }},
        {"group.wait_ms is 5", [](JobOptions& o) { o.group_wait_ms = 5; }},
        {"group.window is 5", [](JobOptions& o) { o.history_window = 5; }},
        {"average.weights is dynamic", [](JobOptions& o) { o.weights = Weights::dynamic; }},
        {"average.missing is initial", [](JobOptions& o) { o.missing = Missing::initial; }},
        {"average.alpha is 0.9", [](JobOptions& o) { o.alpha = 0.9; }},
        {"average.alpha is 0", [](JobOptions& o) { o.alpha = 0; }},
    };
    for (const Refusal& refusal : refusals) {
        JobOptions options = reducing(8);
        refusal.spoil(options);
        const auto checked = check(options);
        ASSERT_FALSE(checked) << refusal.names;
        EXPECT_NE(checked.error().message.find(refusal.names), std::string::npos)
            << checked.error().message;
    }
}

JobOptions of_policy(Policy policy) {
    JobOptions options = averaging(8);
    options.policy = policy;
    return options;
}

TEST(JobOptions, OfEveryPolicyHaveItsDefaults) {
    EXPECT_EQ(check(of_policy(Policy::prague_random))->group_size, 3U);
    EXPECT_EQ(check(of_policy(Policy::prague_smart))->group_size, 3U);
    EXPECT_EQ(check(of_policy(Policy::prague_smart))->progress_gap, 4U);
    EXPECT_EQ(check(of_policy(Policy::ad_psgd))->group_size, 2U);
    EXPECT_EQ(check(of_policy(Policy::full))->group_size, 8U);
    for (const Policy policy :
         {Policy::all_reduce, Policy::partial_reduce, Policy::prague_random, Policy::prague_smart,
          Policy::ad_psgd, Policy::full, Policy::prague_static}) {
        // Checked options may be announced, and checked, again.
        const JobOptions checked = *check(of_policy(policy));
        const auto again = check(checked);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(*again, checked);
    }
}

TEST(JobOptions, ThatAPolicyDoesNotKnowAreRefused) {
    const auto refused = [](Policy policy, const char* names,
                            const std::function<void(JobOptions&)>& spoil) {
        JobOptions options = of_policy(policy);
        spoil(options);
        const auto checked = check(options);
        ASSERT_FALSE(checked) << names;
        EXPECT_NE(checked.error().message.find(names), std::string::npos)
            << checked.error().message;
    };
    refused(Policy::prague_random, "group.min is 3", [](JobOptions& o) { o.group_min = 3; });
    refused(Policy::prague_smart, "group.wait_ms is 5", [](JobOptions& o) { o.group_wait_ms = 5; });
    refused(Policy::partial_reduce, "group.progress_gap is 3",
            [](JobOptions& o) { o.progress_gap = 3; });
    refused(Policy::prague_static, "group.size is 3", [](JobOptions& o) { o.group_size = 3; });
    refused(Policy::prague_static, "group.min is 3", [](JobOptions& o) { o.group_min = 3; });
    refused(Policy::prague_static, "group.window is 9",
            [](JobOptions& o) { o.history_window = 9; });
    refused(Policy::prague_static, "average.weights is dynamic",
            [](JobOptions& o) { o.weights = Weights::dynamic; });
    refused(Policy::prague_static, "average.missing is initial",
            [](JobOptions& o) { o.missing = Missing::initial; });
    refused(Policy::prague_static, "average.alpha is 0.9", [](JobOptions& o) { o.alpha = 0.9; });
    refused(Policy::prague_static, "average.alpha is 0", [](JobOptions& o) { o.alpha = 0; });
    refused(Policy::automatic, "average.alpha is 0.25", [](JobOptions& o) { o.alpha = 0.25; });
    refused(Policy::full, "average.alpha is 0", [](JobOptions& o) { o.alpha = 0; });
    refused(Policy::all_reduce, "group.progress_gap is 3",
            [](JobOptions& o) { o.progress_gap = 3; });
    refused(Policy::ad_psgd, "group.size is 3", [](JobOptions& o) { o.group_size = 3; });
    refused(Policy::full, "group.size is 3", [](JobOptions& o) { o.group_size = 3; });
    refused(Policy::prague_random, "group.size is 9", [](JobOptions& o) { o.group_size = 9; });
}

TEST(JobOptions, AreComparedOptionByOption) {
    JobOptions asked = *check(averaging(8, 3));
    asked.alpha = 0.9;
    asked.weights = Weights::dynamic;
    EXPECT_EQ(differences(asked, *check(averaging(8, 3))),
              "average.weights dynamic (the job has constant)");
    EXPECT_EQ(differences(asked, asked), "");
    JobOptions other = averaging(8, 3);
    other.weights = Weights::dynamic;
    EXPECT_EQ(differences(asked, *check(other)), "average.alpha 0.9 (the job has 0.5)");
}

}  // namespace
}  // namespace pace::controller
