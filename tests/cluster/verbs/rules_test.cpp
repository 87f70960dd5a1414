// Rule tests: rules of pace.h that only a daemon's answer shows, and that belong to no family. They
// concern forks, signals, descriptors, quotas and runs.
#include <grp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/crew.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

using std::chrono::steady_clock;

constexpr uint64_t kRuleElements = 1000;

// Runs checks in a forked child. The child returns how many of the checks failed.
int in_a_child(const std::function<int()>& failures) {
    const pid_t child = fork();
    if (child == 0) _exit(failures());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

pace_session_info info_of(const Worker& worker) {
    pace_session_info info = PACE_SESSION_INFO_INIT;
    EXPECT_EQ(pace_session_get_info(worker.session(), &info, nullptr), PACE_OK);
    return info;
}

class Rules : public testing::Test {
  protected:
    WorkerOptions of(uint32_t rank, uint32_t world) const {
        return {.endpoint = cluster_.endpoint(0), .rank = rank, .world = world};
    }
    // Returns the options of a worker of two. Its calls wait for a worker that never comes.
    WorkerOptions alone() const { return of(0, 2); }

    Cluster cluster_{{.nodes = 1, .controller = false}};
    pace_error error_{};
};

// ---------------------------------------------------------------------------------------- sessions

// Calls everything, as a forked child. Returns how many of the calls were not refused.
int calls_not_refused(pace_session* session, pace_buffer buffer, pace_request waiting) {
    int failures = 0;
    const auto refused = [&](pace_status status) { failures += status != PACE_E_INVALID; };
    const pace_slice whole = PACE_WHOLE(buffer);
    pace_session_info session_info = PACE_SESSION_INFO_INIT;
    pace_buffer_info buffer_info = PACE_BUFFER_INFO_INIT;
    pace_push_options push = PACE_PUSH_OPTIONS_INIT;
    pace_pull_options pull = PACE_PULL_OPTIONS_INIT;
    pace_average_options average = PACE_AVERAGE_OPTIONS_INIT;
    pace_buffer made{};
    pace_request begun{};
    void* data = nullptr;
    int fd = -1;
    refused(pace_session_leave(session, 0, nullptr));
    refused(pace_session_get_info(session, &session_info, nullptr));
    refused(pace_session_get_fd(session, &fd, nullptr));
    refused(pace_session_next(session, 0, nullptr, &begun, nullptr, nullptr));
    refused(pace_buffer_create(session, PACE_F32, 1, nullptr, &made, &data, nullptr));
    refused(pace_buffer_free(session, buffer, nullptr));
    refused(pace_buffer_get_info(session, buffer, &buffer_info, nullptr));
    refused(pace_buffer_to_dlpack(session, buffer, 0, &data, nullptr));
    refused(pace_request_wait(session, waiting, 0, nullptr, nullptr, nullptr));
    refused(pace_request_test(session, waiting, nullptr, nullptr, nullptr));
    refused(pace_request_ready(session, waiting, 1, nullptr));
    refused(pace_request_cancel(session, waiting, nullptr));
    refused(pace_announce(session, 1, nullptr));
    refused(pace_withdraw(session, nullptr));
    refused(pace_average(session, &whole, 1, &average, &begun, nullptr));
    refused(pace_reduce(session, &whole, 1, nullptr, &begun, nullptr));
    refused(pace_broadcast(session, &whole, 1, nullptr, &begun, nullptr));
    refused(pace_sync(session, &whole, 1, nullptr, &begun, nullptr));
    refused(pace_barrier(session, nullptr, &begun, nullptr));
    refused(pace_push(session, &whole, 1, &push, &begun, nullptr));
    refused(pace_pull(session, &whole, 1, &pull, &begun, nullptr));
    refused(pace_checkpoint(session, nullptr, &begun, nullptr));
    refused(pace_residual_save(session, &whole, 1, nullptr, &begun, nullptr));
    refused(pace_residual_load(session, &whole, 1, nullptr, &begun, nullptr));
    return failures;
}

TEST_F(Rules, AForkedChildIsRefusedByEveryCall) {
    Worker worker(alone());
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    worker.add_floats(kRuleElements, 1);
    const pace_request waiting = worker.reduce();
    const pace_buffer buffer = worker.buffers()[0];
    const int allowed = in_a_child([&] {
        const int failures = calls_not_refused(worker.session(), buffer, waiting);
        // Frees the child's part of the session, and nothing of its parent's.
        pace_session_free(worker.session());
        return failures;
    });
    EXPECT_EQ(allowed, 0);
    // The child's calls do not reach the parent's session.
    EXPECT_EQ(worker.wait(waiting, 0), PACE_TIMEOUT);
    EXPECT_EQ(worker.cancel(waiting), PACE_OK);
    EXPECT_EQ(worker.wait(waiting), PACE_CANCELED);
}

TEST_F(Rules, AUserWhomTheSocketDoesNotKnowIsDenied) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const std::string endpoint = cluster_.endpoint(0);
    // Every user may read the folder. So it is the socket that refuses.
    ASSERT_EQ(chmod(cluster_.directory().c_str(), 0755), 0);
    const int wrong = in_a_child([&] {
        constexpr uid_t kNobody = 65534;
        if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) return 100;
        AskedSession asked;
        asked.endpoint = endpoint;
        asked.policy = PACE_POLICY_ALL_REDUCE;
        pace_session* session = nullptr;
        pace_error error{};
        const pace_status status = asked.open(&session, &error);
        return status == PACE_E_DENIED && error.message[0] != '\0' ? 0 : -status;
    });
    EXPECT_EQ(wrong, 0) << pace_status_name(-wrong);
}

TEST(RulesOfRuns, ASessionWhoseRunIsOverIsClosed) {
    Cluster cluster({.nodes = 2});
    const auto run = [](const char* name) { return [name](AskedSession& job) { job.run = name; }; };
    Worker old({.endpoint = cluster.endpoint(0), .tune = run("monday")});
    ASSERT_EQ(old.opened(), PACE_OK) << old.complaint();
    old.add_floats(kRuleElements, 1);
    old.finish(old.reduce());
    // The worker's node is gone, and with it all workers of the run. Meanwhile another run begins.
    cluster.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    Worker next({.endpoint = cluster.endpoint(1), .connect_ms = 30000, .tune = run("tuesday")});
    ASSERT_EQ(next.opened(), PACE_OK) << next.complaint();
    cluster.start_daemon(0);
    const pace_slice whole = PACE_WHOLE(old.buffers()[0]);
    pace_request request{};
    pace_error error{};
    pace_status status = PACE_OK;
    const Deadline deadline = soon();
    while (steady_clock::now() < deadline) {
        status = pace_reduce(old.session(), &whole, 1, nullptr, &request, &error);
        if (status == PACE_OK) status = old.wait(request);
        if (status == PACE_E_CLOSED) break;
    }
    EXPECT_EQ(status, PACE_E_CLOSED) << error.message << old.complaint() << cluster.logs();
    next.add_floats(kRuleElements, 2);
    next.finish(next.reduce());
}

TEST_F(Rules, TheGenerationChangesWithTheDaemonAndTheRunStateDoesNot) {
    Worker worker(of(0, 1));
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    worker.add_floats(kRuleElements, 1);
    worker.finish(worker.reduce());
    const pace_session_info before = info_of(worker);
    EXPECT_EQ(before.run_state, uint32_t{PACE_RUN_NEW});
    cluster_.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster_.daemon(0).wait(soon()));
    cluster_.start_daemon(0);
    pace_buffer buffer{};
    void* data = nullptr;
    ASSERT_EQ(pace_buffer_create(worker.session(), PACE_F32, 1, nullptr, &buffer, &data, &error_),
              PACE_OK)
        << error_.message;
    const pace_session_info after = info_of(worker);
    EXPECT_NE(after.generation, before.generation);
    EXPECT_EQ(after.run_state, before.run_state);
    EXPECT_STREQ(after.job, before.job);
}

TEST_F(Rules, ADaemonThatIsNotThereYetIsWaitedForAQuarterOfASecond) {
    cluster_.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster_.daemon(0).wait(soon()));
    unlink(cluster_.socket(0).c_str());
    const auto began = steady_clock::now();
    const Worker vain(of(0, 1));
    const auto took = steady_clock::now() - began;
    EXPECT_EQ(vain.opened(), PACE_E_NOT_FOUND) << vain.complaint();
    EXPECT_GE(took, std::chrono::milliseconds(250));
    EXPECT_LT(took, std::chrono::seconds(10)) << "connect_ms is 20 s";
}

// Trains until the third worker is one of them.
void train_until_three(Worker& worker) {
    do {
        worker.finish(worker.reduce());
    } while (worker.info().member_count < 3 && !testing::Test::HasFailure());
}

TEST(RulesOfRuns, ARunBeginsWithFewerWorkersAndWhoComesLaterGetsItsModel) {
    Cluster cluster({.nodes = 2});
    const auto tune = [](AskedSession& job) {
        job.set(PACE_OPT_RUN_MIN_WORKERS, 2);
        job.set(PACE_OPT_RUN_WAIT_MS, 100);
    };
    const auto options = [&](uint32_t rank) {
        return WorkerOptions{
            .endpoint = cluster.endpoint(rank % 2), .rank = rank, .world = 3, .tune = tune};
    };
    Worker first(options(0));
    ASSERT_EQ(first.opened(), PACE_OK) << first.complaint();
    first.add_floats(kRuleElements, 3);
    const pace_request broadcast = first.broadcast(0);
    EXPECT_EQ(first.wait(broadcast, 300), PACE_TIMEOUT) << "one is too few";
    Worker second(options(1));
    ASSERT_EQ(second.opened(), PACE_OK) << second.complaint();
    const float* model = second.add_floats(kRuleElements, 5);
    second.finish(second.broadcast(0));
    first.finish(broadcast);
    EXPECT_EQ(model[0], 3);
    const pace_request sum = first.reduce();
    second.finish(second.reduce());
    first.finish(sum);
    EXPECT_EQ(first.info().member_count, 2U);
    Worker third(options(2));
    ASSERT_EQ(third.opened(), PACE_OK) << third.complaint();
    EXPECT_EQ(info_of(third).run_state, uint32_t{PACE_RUN_UNDER_WAY});
    const float* given = third.add_floats(kRuleElements, 7);
    // A worker that has trained gives its model with its next call: 6, 12, 24, ...
    std::thread one([&] { train_until_three(first); });
    std::thread two([&] { train_until_three(second); });
    third.finish(third.broadcast(0));
    EXPECT_EQ(std::fmod(given[0], 6), 0) << given[0];
    train_until_three(third);
    one.join();
    two.join();
    EXPECT_EQ(given[0], model[0]);
}

// ------------------------------------------------------------------------------------------- waits

TEST_F(Rules, AWaitWithSignalsComesBackWithinASecondWithoutOne) {
    Worker worker(alone());
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    worker.add_floats(kRuleElements, 1);
    const pace_request waiting = worker.reduce();
    pace_wait_options options = PACE_WAIT_OPTIONS_INIT;
    options.flags = PACE_WAIT_SIGNALS;
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    const auto began = steady_clock::now();
    EXPECT_EQ(pace_request_wait(worker.session(), waiting, PACE_FOREVER, &options, &info, nullptr),
              PACE_INTERRUPTED);
    EXPECT_GE(steady_clock::now() - began, std::chrono::milliseconds(400));
    EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(10)) << "half a second, when idle";
    EXPECT_EQ(info.status, PACE_PENDING);
    EXPECT_EQ(worker.cancel(waiting), PACE_OK);
    EXPECT_EQ(worker.wait(waiting), PACE_CANCELED);
}

TEST_F(Rules, AWaitWhoseRequestNextTakesIsToldThatItsHandleIsVoid) {
    Worker worker(alone());
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    worker.add_floats(kRuleElements, 1);
    // Chance decides which call ends first. The test repeats until next() has won, at most this
    // often.
    for (int time = 0; time < 200; ++time) {
        const pace_request waiting = worker.reduce();
        auto waited = std::async(std::launch::async, [&] {
            return pace_request_wait(worker.session(), waiting, PACE_FOREVER, nullptr, nullptr,
                                     nullptr);
        });
        EXPECT_EQ(worker.cancel(waiting), PACE_OK);
        pace_request ended{};
        const pace_status next =
            pace_session_next(worker.session(), PACE_FOREVER, nullptr, &ended, nullptr, nullptr);
        const pace_status wait = waited.get();
        if (next == PACE_E_NOT_FOUND) {
            EXPECT_EQ(wait, PACE_CANCELED);
            continue;
        }
        EXPECT_EQ(next, PACE_CANCELED);
        EXPECT_EQ(ended.id, waiting.id);
        EXPECT_EQ(wait, PACE_E_HANDLE);
        return;
    }
    GTEST_SKIP() << "the wait was first each time";
}

TEST_F(Rules, AProcessWithoutDescriptorsIsToldSo) {
    Worker worker(alone());
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlimit none = limit;
    none.rlim_cur = 3;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    int fd = -1;
    const pace_status status = pace_session_get_fd(worker.session(), &fd, &error_);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(status, PACE_E_LIMIT) << error_.message;
    EXPECT_EQ(fd, -1);
    EXPECT_EQ(pace_session_get_fd(worker.session(), &fd, &error_), PACE_OK) << error_.message;
}

// The daemon is stopped, so that it takes none of the messages.
TEST_F(Rules, ADaemonThatDoesNotReadIsNotToldForEver) {
    WorkerOptions options = of(0, 2);
    options.policy = PACE_POLICY_PARTIAL_REDUCE;
    options.group_size = 2;
    Worker worker(options);
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    worker.add_floats(kRuleElements, 1);
    const pace_request waiting = worker.average_ordered(1, PACE_ORDER_FORWARD);
    cluster_.daemon(0).signal(SIGSTOP);
    pace_status ready = PACE_OK;
    for (int time = 1; time <= 80 && ready == PACE_OK; ++time)
        ready = pace_request_ready(worker.session(), waiting, static_cast<uint64_t>(time), &error_);
    EXPECT_EQ(ready, PACE_E_LIMIT) << error_.message;
    pace_status canceled = PACE_OK;
    for (int time = 0; time < 200000 && canceled == PACE_OK; ++time)
        canceled = pace_request_cancel(worker.session(), waiting, &error_);
    EXPECT_TRUE(canceled == PACE_E_LIMIT || canceled == PACE_OK) << error_.message;
    cluster_.daemon(0).signal(SIGCONT);
    const Deadline deadline = soon();
    while (worker.cancel(waiting) == PACE_E_LIMIT && steady_clock::now() < deadline)
        std::this_thread::yield();
    EXPECT_EQ(worker.wait(waiting), PACE_CANCELED) << worker.complaint();
}

}  // namespace
}  // namespace pace::cluster
