// Loop load tests: the event loop goes on while groups average, and while a trainer computes on
// every processor.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/cluster/harness/loop_fixture.h"

namespace pace::cluster {
namespace {

TEST(Loop, GoesOnDuringAveragesOfBuffersThatTheTrainersKeep) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.policy = PACE_POLICY_PARTIAL_REDUCE, .group_size = 2},
                  model_floats() / 4);
        for (uint64_t step = 1; step < 3; ++step) {
            std::vector<pace_request> requests;
            for (Worker& worker : pair.workers) requests.push_back(worker.average_kept(step));
            for (size_t i = 0; i < 2; ++i) pair.workers[i].finish_kept(requests[i], step + 1);
        }
        pair.expect_value(1.5F);
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

TEST(Loop, GoesOnDuringAveragesOfStaticGroups) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.policy = PACE_POLICY_PRAGUE_STATIC}, model_floats() / 8, {0, 0, 1, 1});
        for (uint64_t step = 1; step < 5; ++step)
            pair.both([step](Worker& worker) { return worker.average(step); });
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

// A process that computes on every processor, as trainers do.
class Busy {
  public:
    Busy() {
        for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
            const pid_t child = fork();
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (std::atomic<uint64_t> turns = 0;;) ++turns;
            }
            EXPECT_GT(child, 0);
            children_.push_back(child);
        }
    }
    ~Busy() {
        for (const pid_t child : children_) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

  private:
    std::vector<pid_t> children_;
};

TEST(Loop, GoesOnUnderLoad) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    const Busy busy;
    {
        Pair pair(cluster, {}, model_floats() / 8);
        pair.both([](Worker& worker) { return worker.broadcast(1); });
        pair.both([](Worker& worker) { return worker.reduce(); });
        pair.expect_value(4);
    }
    {
        Pair pair(cluster,
                  {.job = "top-k",
                   .tune =
                       [](AskedSession& job) {
                           job.set(PACE_OPT_COMPRESSION, "spardl");
                           job.set(PACE_OPT_TOPK_DENSITY, 0.1);
                           job.set(PACE_OPT_TOPK_TEAMS, 1);
                           job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
                       }},
                  model_floats() / 16);
        pair.set_unlike();
        pair.both([](Worker& worker) { return worker.reduce(); });
    }
    expect_calm(cluster, 2);
}

}  // namespace
}  // namespace pace::cluster
