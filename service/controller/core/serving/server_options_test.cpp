#include "service/controller/core/serving/server_options.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "service/controller/core/options/job_options.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

JobOptions serving(Policy policy = Policy::ssp) {
    JobOptions options;
    options.name = "job";
    options.world = 4;
    options.policy = policy;
    options.elements = 100;
    return options;
}

TEST(ServerOptions, HaveDefaultsFilledInWhereTheyMeanSomething) {
    for (const Policy policy : {Policy::bsp, Policy::ssp, Policy::asp}) {
        const JobOptions options = check(serving(policy)).value();
        EXPECT_EQ(options.rate, Rate::dynamic);
        EXPECT_EQ(options.filter, 1e-6);
        EXPECT_EQ(options.constant_rate, 0.0);
        EXPECT_EQ(options.staleness, 3U);
        EXPECT_EQ(check(options).value(), options);
    }
    JobOptions constant = serving();
    constant.rate = Rate::constant;
    EXPECT_EQ(check(constant)->constant_rate, 0.25);
}

TEST(ServerOptions, TellTheServerItsBoundAndItsRate) {
    EXPECT_EQ(server_options_of(check(serving(Policy::bsp)).value()).staleness, 0U);
    EXPECT_EQ(server_options_of(check(serving(Policy::asp)).value()).staleness, std::nullopt);
    JobOptions options = serving();
    options.staleness = 10;
    options.rate = Rate::constant;
    options.constant_rate = 0.5;
    const ServerOptions server = server_options_of(check(options).value());
    EXPECT_EQ(server.staleness, 10U);
    EXPECT_EQ(server.rate, Rate::constant);
    EXPECT_EQ(server.constant, 0.5);
}

struct Wrong {
    const char* named;
    std::function<void(JobOptions&)> spoil;
};

void expect_refused(const Wrong& wrong, JobOptions options) {
    wrong.spoil(options);
    const auto checked = check(options);
    ASSERT_FALSE(checked) << wrong.named;
    EXPECT_NE(checked.error().message.find(wrong.named), std::string::npos)
        << checked.error().message;
}

TEST(ServerOptions, ThatMakeNoSenseAreRefusedByName) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<Wrong> wrongs = {
        {"server.elements is not given", [](JobOptions& o) { o.elements = 0; }},
        {"server.shards is 101, but the model has 100", [](JobOptions& o) { o.shards = 101; }},
        {"server.elements is", [](JobOptions& o) { o.elements = uint64_t{1} << 50U; }},
        {"server.shards is 5000", [](JobOptions& o) { o.shards = 5000; }},
        {"world is 20000", [](JobOptions& o) { o.world = 20000; }},
        {"server.rate is '?'", [](JobOptions& o) { o.rate = static_cast<Rate>(9); }},
        {"server.constant_rate is 0.5", [](JobOptions& o) { o.constant_rate = 0.5; }},
        {"server.constant_rate is 2",
         [](JobOptions& o) {
             o.rate = Rate::constant;
             o.constant_rate = 2;
         }},
        {"server.constant_rate is nan",
         [nan](JobOptions& o) {
             o.rate = Rate::constant;
             o.constant_rate = nan;
         }},
        {"server.filter is nan", [nan](JobOptions& o) { o.filter = nan; }},
        {"server.staleness is 4",
         [](JobOptions& o) {
             o.policy = Policy::bsp;
             o.staleness = 4;
         }},
        {"quorum.staleness_max is 3", [](JobOptions& o) { o.staleness_max = 3; }},
        {"group.size is 3", [](JobOptions& o) { o.group_size = 3; }},
        {"quorum is solo", [](JobOptions& o) { o.quorum = Quorum::solo; }},
        {"compression is spardl", [](JobOptions& o) { o.compression = Compression::spardl; }},
        {"group.progress_gap is 2", [](JobOptions& o) { o.progress_gap = 2; }},
    };
    for (const Wrong& wrong : wrongs) expect_refused(wrong, serving());
}

TEST(ServerOptions, MeanNothingInJobsOfOtherFamilies) {
    const std::vector<Wrong> wrongs = {
        {"server.elements is 5", [](JobOptions& o) { o.elements = 5; }},
        {"server.rate is sum", [](JobOptions& o) { o.rate = Rate::sum; }},
        {"server.filter is 1", [](JobOptions& o) { o.filter = 1; }},
        {"server.shards is 2", [](JobOptions& o) { o.shards = 2; }},
    };
    for (const Wrong& wrong : wrongs)
        for (const JobOptions& options : {averaging(4), reducing(4)})
            expect_refused(wrong, options);
}

TEST(ServerOptions, DifferencesAreNamed) {
    JobOptions asked = check(serving()).value();
    asked.elements = 7;
    asked.rate = Rate::sum;
    EXPECT_EQ(differences(asked, check(serving()).value()),
              "server.elements 7 (the job has 100), server.rate sum (the job has dynamic)");
}

}  // namespace
}  // namespace pace::controller
