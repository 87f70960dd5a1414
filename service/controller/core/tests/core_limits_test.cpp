// Core limits: what one user may occupy of the controller, and how long unused jobs are kept.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using std::chrono::hours;
using std::chrono::minutes;

CoreOptions small_limits() {
    CoreOptions options;
    options.limits = {.jobs = 4, .jobs_of_user = 2, .workers = 100, .workers_of_user = 60};
    return options;
}

class CoreLimitsTest : public ::testing::Test, public CoreFixture {
  protected:
    CoreLimitsTest() : CoreFixture(small_limits()) {}

    // Creates the job; returns the reason for a refusal, or an empty text.
    std::string create(const std::string& name, uint32_t world, uint32_t uid) {
        JobOptions options = averaging(world);
        options.name = name;
        clear();
        send(from(node_, JobCreate{7, options, uid}));
        const auto refused = take<JoinRefused>();
        if (refused.empty()) return {};
        EXPECT_EQ(refused[0].request, 7U);
        EXPECT_EQ(refused[0].error.kind, ErrorKind::limit);
        return refused[0].error.message;
    }
    base::Error remove(const std::string& name, uint32_t uid) {
        clear();
        send(from(node_, JobDelete{8, name, uid}));
        if (!sent<JobDeleted>().empty()) return {};
        const auto refused = take<JoinRefused>();
        return refused.empty() ? base::Error{} : refused[0].error;
    }

    NodeId node_ = attach("a");
};

TEST_F(CoreLimitsTest, OneUserHasOnlySoManyJobs) {
    EXPECT_EQ(create("one", 2, 1000), "");
    EXPECT_EQ(create("two", 2, 1000), "");
    const std::string refusal = create("three", 2, 1000);
    EXPECT_NE(refusal.find("user_jobs_max"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("pacectl job delete"), std::string::npos) << refusal;
    EXPECT_EQ(create("three", 2, 1001), "");
    EXPECT_EQ(create("four", 2, 1001), "");
    EXPECT_NE(create("five", 2, 1002).find("jobs_max"), std::string::npos);
    EXPECT_EQ(core().jobs(), 4U);
}

TEST_F(CoreLimitsTest, OneUsersJobsHaveOnlySoManyWorkers) {
    EXPECT_EQ(create("one", 50, 1000), "");
    EXPECT_NE(create("two", 11, 1000).find("user_workers_max"), std::string::npos);
    EXPECT_EQ(create("two", 10, 1000), "");
    EXPECT_NE(create("three", 41, 1001).find("workers_max"), std::string::npos);
    EXPECT_EQ(create("three", 40, 1001), "");
}

TEST_F(CoreLimitsTest, AWorkerThatWouldCreateOneJobTooManyIsRefused) {
    EXPECT_EQ(create("one", 2, 1000), "");
    EXPECT_EQ(create("two", 2, 1000), "");
    clear();
    join(node_, 0, averaging(2));
    EXPECT_EQ(take<JoinRefused>().at(0).error.kind, ErrorKind::limit);
}

TEST_F(CoreLimitsTest, AJobThatNobodyJoinsEndsAndMakesRoom) {
    EXPECT_EQ(create("one", 2, 1000), "");
    EXPECT_EQ(create("two", 2, 1000), "");
    pass_hearing(minutes(1), {node_});
    EXPECT_EQ(core().jobs(), 2U);
    pass(hours(25));
    EXPECT_EQ(core().jobs(), 0U);
    replay_journal();
    EXPECT_EQ(create("three", 2, 1000), "");
}

TEST_F(CoreLimitsTest, AJobWhoseWorkersAreForgottenAfterARestartEnds) {
    join(node_, 0, averaging(2));
    restart();
    replay_journal();
    EXPECT_EQ(core().jobs(), 1U);
    pass(hours(25));
    EXPECT_EQ(core().jobs(), 0U);
}

TEST_F(CoreLimitsTest, AJobIsDeletedByItsOwnerOrByRoot) {
    EXPECT_EQ(create("one", 2, 1000), "");
    EXPECT_EQ(create("two", 2, 1000), "");
    EXPECT_EQ(remove("none", 1000).kind, ErrorKind::not_found);
    EXPECT_EQ(remove("one", 1001).kind, ErrorKind::denied);
    EXPECT_EQ(core().jobs(), 2U);
    EXPECT_EQ(remove("one", 1000).message, "");
    EXPECT_EQ(remove("two", 0).message, "");
    EXPECT_EQ(core().jobs(), 0U);
    restart();
    replay_journal();
    EXPECT_EQ(core().jobs(), 0U);
}

TEST_F(CoreLimitsTest, AJobWithWorkersIsNotDeleted) {
    join(node_, 0, averaging(2));
    EXPECT_EQ(remove("job", 1000).kind, ErrorKind::taken);
    // Its workers have all died: the job would be kept for ten minutes.
    send(from(node_, WorkerLeave{1, 0, false}));
    EXPECT_EQ(core().jobs(), 1U);
    EXPECT_EQ(remove("job", 1000).message, "");
    EXPECT_EQ(core().jobs(), 0U);
}

TEST_F(CoreLimitsTest, EdgesOfAGraphCountAsWorkers) {
    JobOptions options = averaging(30);
    options.policy = Policy::ad_psgd;
    for (uint32_t a = 0; a < 30; ++a)
        for (uint32_t b = a + 1; b < 30; ++b) options.edges.insert(options.edges.end(), {a, b});
    options.name = "graph";
    send(from(node_, JobCreate{7, options, 1000}));
    EXPECT_TRUE(sent<JoinRefused>().empty());
    EXPECT_NE(create("more", 4, 1000).find("user_workers_max"), std::string::npos);
}

}  // namespace
}  // namespace pace::controller
