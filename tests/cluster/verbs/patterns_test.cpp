// Pattern tests: follow what docs/c-api.md tells trainers to do where several trainers must agree.
// The cases are the end of a training, and a refused gradient.
#include <algorithm>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kPatternElements = 50;
constexpr uint64_t kPatternSteps = 40;

// A trainer whose gradients are 1 in every element.
class PatternTraining {
  public:
    PatternTraining(const Cluster& cluster, size_t node, uint32_t rank, uint32_t world)
        : rank_(rank),
          worker_({.endpoint = cluster.endpoint(node),
                   .rank = rank,
                   .world = world,
                   .tune = [](AskedSession& job) {
                       job.set(PACE_OPT_QUORUM, "solo");
                       job.set(PACE_OPT_REDUCE_RESYNC_EVERY, 3);
                   }}) {
        EXPECT_EQ(worker_.opened(), PACE_OK) << worker_.complaint();
        gradient_ = create(kPatternElements, gradient_buffer_);
        model_ = create(kPatternElements, synced_[0]);
        finished_ = create(1, synced_[1]);
    }

    // Follows docs/c-api.md, "The end of a training".
    void run() {
        for (uint64_t step = 0; step < kPatternSteps; ++step) {
            if (reduce(1)) sync(0);
            // One trainer is faster than the others.
            for (uint32_t pause = 0; pause < 200 * rank_; ++pause) std::this_thread::yield();
        }
        while (!sync(1)) {
        }
        // Late gradients count in the next rounds. A trainer that is asked to sync here need not do
        // so, because a sync follows.
        for (int round = 0; round < 2; ++round) {
            barrier();
            reduce(0);
        }
        barrier();
        sync(1);
    }

    float model(uint64_t i) const { return model_[i]; }

  private:
    float* create(uint64_t count, pace_buffer& ret_buffer) {
        void* data = nullptr;
        EXPECT_EQ(pace_buffer_create(worker_.session(), PACE_F32, count, nullptr, &ret_buffer,
                                     &data, nullptr),
                  PACE_OK);
        return static_cast<float*>(data);
    }

    // Returns whether all workers are asked to sync now.
    bool reduce(float gradient) {
        std::fill_n(gradient_, kPatternElements, gradient);
        pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
        options.op = PACE_OP_SUM;
        pace_request request{};
        EXPECT_EQ(pace_reduce(worker_.session(), Slices(&gradient_buffer_, 1), 1, &options,
                              &request, nullptr),
                  PACE_OK);
        worker_.finish(request);
        for (uint64_t i = 0; i < kPatternElements; ++i) model_[i] -= gradient_[i];
        return worker_.info().resync == 1;
    }

    // Returns whether all workers have finished.
    bool sync(float finished) {
        *finished_ = finished;
        pace_request request{};
        EXPECT_EQ(pace_sync(worker_.session(), Slices(synced_, 2), 2, nullptr, &request, nullptr),
                  PACE_OK);
        worker_.finish(request);
        return *finished_ == 1 || testing::Test::HasFailure();
    }

    void barrier() { worker_.finish(worker_.barrier()); }

    uint32_t rank_;
    Worker worker_;
    pace_buffer gradient_buffer_{};
    pace_buffer synced_[2] = {};
    float* gradient_ = nullptr;
    float* model_ = nullptr;
    float* finished_ = nullptr;
};

TEST(Patterns, ATrainingWithResyncsEndsForAllAtOnceAndWithOneModel) {
    Cluster cluster({.nodes = 2});
    constexpr uint32_t kWorld = 3;
    std::vector<std::unique_ptr<PatternTraining>> trainings;
    for (uint32_t rank = 0; rank < kWorld; ++rank)
        trainings.push_back(std::make_unique<PatternTraining>(cluster, rank % 2, rank, kWorld));
    std::vector<std::thread> threads;
    for (const auto& training : trainings) threads.emplace_back([&] { training->run(); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& training : trainings)
        for (uint64_t i = 0; i < kPatternElements; ++i)
            ASSERT_EQ(training->model(i), trainings[0]->model(i));
}

// The others wait for this worker, and need do nothing.
TEST(Patterns, AWorkerWhoseGradientWasRefusedGivesZerosAndTheOthersNoticeNothing) {
    Cluster cluster({.nodes = 2});
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<float*> data;
    for (uint32_t rank = 0; rank < 3; ++rank) {
        workers.push_back(std::make_unique<Worker>(WorkerOptions{
            .endpoint = cluster.endpoint(rank % 2),
            .rank = rank,
            .world = 3,
            .tune = [](AskedSession& job) { job.set(PACE_OPT_REDUCE_REJECT_NONFINITE, 1); }}));
        ASSERT_EQ(workers.back()->opened(), PACE_OK) << workers.back()->complaint();
        data.push_back(workers.back()->add_floats(kPatternElements, static_cast<float>(rank + 1)));
    }
    std::vector<pace_request> requests;
    data[2][7] = std::numeric_limits<float>::infinity();
    for (const auto& worker : workers) requests.push_back(worker->reduce(PACE_OP_MEAN));
    EXPECT_EQ(workers[2]->wait(requests[2]), PACE_E_REFUSED);
    std::fill_n(data[2], kPatternElements, 0.0F);
    requests[2] = workers[2]->reduce(PACE_OP_MEAN);
    for (size_t rank = 0; rank < 3; ++rank) {
        workers[rank]->finish(requests[rank]);
        EXPECT_EQ(data[rank][7], 1.0F) << "a mean over three, one of which gave nothing";
        EXPECT_EQ(workers[rank]->info().contributor_count, 3U);
    }
}

}  // namespace
}  // namespace pace::cluster
