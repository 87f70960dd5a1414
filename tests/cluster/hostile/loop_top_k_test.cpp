// Loop top-k tests: the event loop goes on during top-k reductions, and during work on their
// residuals.
#include "tests/cluster/harness/loop_fixture.h"

namespace pace::cluster {
namespace {

// Much of the model travels, so that work on the travelling data takes long, too.
constexpr double kDensity = 0.1;

class LoopTopK : public testing::TestWithParam<std::string> {
  protected:
    static WorkerOptions options(const std::string& hierarchy = "node") {
        return {.tune = [hierarchy](AskedSession& job) {
            job.set(PACE_OPT_COMPRESSION, GetParam());
            job.set(PACE_OPT_TOPK_DENSITY, kDensity);
            job.set(PACE_OPT_TOPK_HIERARCHY, hierarchy);
            job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
            if (GetParam() == "spardl") job.set(PACE_OPT_TOPK_TEAMS, 1);
        }};
    }
    static void reduce_twice(Pair& pair) {
        for (int i = 0; i < 2; ++i) {
            pair.set_unlike();
            pair.both([](Worker& worker) { return worker.reduce(); });
            EXPECT_GT(pair.workers[0].info().entries, pair.floats / 100);
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, LoopTopK,
                         testing::Values("spardl", "topka", "topkdsa", "gtopk", "oktopk"));

TEST_P(LoopTopK, GoesOnDuringAReduction) {
    SKIP_WITHOUT_ROOM_FOR(3);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, options(), model_floats() / 4);
        reduce_twice(pair);
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

// Two workers are on one node, and exchange messages within it.
TEST_P(LoopTopK, GoesOnDuringAFlatReduction) {
    SKIP_WITHOUT_ROOM_FOR(3);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, options("flat"), model_floats() / 8, {0, 0, 1});
        reduce_twice(pair);
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

// Types other than f32 are summed separately where the top-k reduction becomes dense.
TEST(Loop, GoesOnWhileADoubleIsReducedDenseThoughTopKWasAskedFor) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster,
                  {.tune =
                       [](AskedSession& job) {
                           job.set(PACE_OPT_COMPRESSION, "topka");
                           job.set(PACE_OPT_TOPK_DENSITY, 1);
                       }},
                  1);
        for (Worker& worker : pair.workers)
            ASSERT_NE(worker.add_buffer(PACE_F64, model_floats() / 8), nullptr);
        pair.both([](Worker& worker) { return worker.reduce(); });
    }
    expect_calm(cluster, 2);
}

// Worker 2 leaves. It comes back while worker 0, on the same node, waits for worker 1 in a
// reduction. Worker 2 asks for its residual at once. The first worker of its node reports the
// node's residual, so worker 2 gets zeros.
TEST(Loop, GoesOnWhileWhatIsOwedIsSavedDuringAReduction) {
    SKIP_WITHOUT_ROOM_FOR(6);
    const auto tune = [](AskedSession& job) {
        job.set(PACE_OPT_COMPRESSION, "spardl");
        job.set(PACE_OPT_TOPK_DENSITY, 0.001);
        job.set(PACE_OPT_TOPK_TEAMS, 1);
        job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
        job.set(PACE_OPT_WORKER_TIMEOUT_MS, 600000);
    };
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.tune = tune}, model_floats() / 2, {0, 1, 0});
        pair.both([](Worker& worker) { return worker.load_residual(); });
        pair.workers.pop_back();
        pair.data.pop_back();
        const pace_request reduction = pair.workers[0].reduce();
        Worker newcomer({.endpoint = cluster.endpoint(0), .rank = 2, .world = 3, .tune = tune});
        ASSERT_EQ(newcomer.opened(), PACE_OK) << newcomer.complaint();
        const float* const owed = newcomer.add_floats(pair.floats, 7);
        newcomer.finish(newcomer.save_residual());
        for (const uint64_t i : {uint64_t{0}, pair.floats - 1}) EXPECT_EQ(owed[i], 0);
        pair.workers[1].finish(pair.workers[1].reduce());
        pair.workers[0].finish(reduction);
    }
    expect_calm(cluster, 2);
}

// Each node has a residual as large as a model. The node whose worker leaves transfers its residual
// to the other.
TEST(Loop, GoesOnWhileMuchIsOwed) {
    SKIP_WITHOUT_ROOM_FOR(6);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.tune = [](AskedSession& job) {
                      job.set(PACE_OPT_COMPRESSION, "spardl");
                      job.set(PACE_OPT_TOPK_DENSITY, 0.001);
                      job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
                  }});
        pair.both([](Worker& worker) { return worker.load_residual(); });
        pair.set(0);
        pair.both([](Worker& worker) { return worker.save_residual(); });
        for (size_t rank = 0; rank < 2; ++rank)
            EXPECT_EQ(pair.data[rank][model_floats() - 1], static_cast<float>(rank + 1));
        pair.workers.pop_back();
        const Deadline deadline = soon();
        do {
            pair.workers[0].finish(pair.workers[0].save_residual());
        } while (pair.data[0][model_floats() - 1] != 3 &&
                 std::chrono::steady_clock::now() < deadline);
        EXPECT_EQ(pair.data[0][0], 3);
        EXPECT_EQ(pair.data[0][model_floats() - 1], 3);
    }
    expect_calm(cluster, 2);
}

}  // namespace
}  // namespace pace::cluster
