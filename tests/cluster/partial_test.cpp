// Reductions that do not wait for the slow: what the fast get, what the late get, and that nothing is lost.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster.h"
#include "worker.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kElements = 1000;

// The workers of one job, spread over the cluster's nodes in turn, each with one buffer of floats.
struct Crew {
    Crew(const Cluster& cluster, size_t nodes, uint32_t world,
         const std::function<void(pace_job_options&)>& tune) {
        for (uint32_t rank = 0; rank < world; ++rank) {
            workers.push_back(
                std::make_unique<Worker>(WorkerOptions{.endpoint = cluster.endpoint(rank % nodes),
                                                       .rank = rank,
                                                       .world = world,
                                                       .tune = tune}));
            EXPECT_EQ(workers.back()->opened(), PACE_OK) << workers.back()->complaint();
            data.push_back(workers.back()->add_floats(kElements, 0));
        }
    }

    // Everyone calls it, and waits for its end.
    void everyone(const std::function<pace_request(Worker&)>& verb) {
        std::vector<pace_request> requests;
        for (const auto& worker : workers) requests.push_back(verb(*worker));
        for (size_t i = 0; i < workers.size(); ++i) workers[i]->finish(requests[i]);
    }
    void barrier() {
        everyone([](Worker& worker) { return worker.barrier(); });
    }

    pace_request call(size_t rank, float gradient) {
        std::fill_n(data[rank], kElements, gradient);
        return workers[rank]->reduce(PACE_OP_SUM);
    }
    // What the worker's buffer has, the same everywhere.
    float value(size_t rank) const {
        for (uint64_t i = 0; i < kElements; ++i)
            EXPECT_EQ(data[rank][i], data[rank][0]) << "a torn buffer";
        return data[rank][0];
    }

    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<float*> data;
};

void solo(pace_job_options& job) {
    job.quorum = PACE_QUORUM_SOLO;
}

TEST(Partial, SoloWaitsForNobody) {
    for (const size_t nodes : {1U, 3U}) {
        Cluster cluster({.nodes = nodes});
        Crew crew(cluster, nodes, 3, solo);
        crew.barrier();
        for (int round = 0; round < 5; ++round) {
            crew.workers[1]->finish(crew.call(1, 7));
            EXPECT_EQ(crew.value(1), 7);
            const pace_request_info& info = crew.workers[1]->info();
            EXPECT_EQ(info.contributor_count, 1U);
            EXPECT_EQ(info.rounds, 1U);
            EXPECT_EQ(info.late, 0U);
            EXPECT_EQ(info.divisor, 1);
            EXPECT_EQ(info.member_count, 3U);
            EXPECT_EQ(crew.workers[1]->members()[1].weight, 1);
            EXPECT_EQ(crew.workers[1]->members()[0].weight, 0);
        }
    }
}

TEST(Partial, ALateWorkerGetsWhatItMissedAndItsGradientCountsInTheNextRound) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, 2, 2, solo);
    crew.barrier();
    for (const float gradient : {1.0F, 2.0F, 4.0F}) crew.workers[0]->finish(crew.call(0, gradient));
    crew.workers[1]->finish(crew.call(1, 100));
    EXPECT_EQ(crew.value(1), 7);
    EXPECT_EQ(crew.workers[1]->info().rounds, 3U);
    EXPECT_EQ(crew.workers[1]->info().late, 1U);
    crew.workers[0]->finish(crew.call(0, 8));
    EXPECT_EQ(crew.value(0), 108);
    EXPECT_EQ(crew.workers[0]->info().contributor_count, 2U);
    EXPECT_EQ(crew.workers[0]->members()[1].staleness, 3U);
    crew.workers[1]->finish(crew.call(1, 16));
    EXPECT_EQ(crew.value(1), 108);
    EXPECT_EQ(crew.workers[1]->info().rounds, 1U);
}

TEST(Partial, AQuorumIsWaitedFor) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, 2, 4, [](pace_job_options& job) {
        job.quorum = PACE_QUORUM_COUNT;
        job.quorum_count = 3;
        job.divide_by = PACE_DIVIDE_BY_CONTRIBUTORS;
    });
    crew.barrier();
    const pace_request first = crew.call(0, 1);
    const pace_request second = crew.call(3, 2);
    EXPECT_EQ(crew.workers[0]->wait(first, 20), PACE_TIMEOUT);
    const pace_request third = crew.call(2, 4);
    crew.workers[0]->finish(first);
    crew.workers[3]->finish(second);
    crew.workers[2]->finish(third);
    for (const size_t rank : {0U, 2U, 3U}) EXPECT_EQ(crew.value(rank), 7);
    EXPECT_EQ(crew.workers[2]->info().contributor_count, 3U);
}

TEST(Partial, EverythingThatWasHandedInIsAppliedOnce) {
    for (const int32_t quorum :
         {PACE_QUORUM_SOLO, PACE_QUORUM_MAJORITY, PACE_QUORUM_MAJORITY_STRICT}) {
        Cluster cluster({.nodes = 3});
        Crew crew(cluster, 3, 5, [quorum](pace_job_options& job) { job.quorum = quorum; });
        crew.barrier();
        std::vector<float> model(5, 0);
        float given = 0;
        for (uint32_t step = 0; step < 20; ++step) {
            std::vector<pace_request> requests(5);
            std::vector<bool> called(5, false);
            for (uint32_t rank = 0; rank < 5; ++rank) {
                // Worker r calls in every (r+1)-th step.
                if (step % (rank + 1) != 0 && quorum == PACE_QUORUM_SOLO) continue;
                called[rank] = true;
                const auto gradient = static_cast<float>(rank * 10 + step);
                given += gradient;
                requests[rank] = crew.call(rank, gradient);
            }
            for (uint32_t rank = 0; rank < 5; ++rank) {
                if (!called[rank]) continue;
                crew.workers[rank]->finish(requests[rank]);
                model[rank] += crew.value(rank);
            }
        }
        // The first round after a barrier has all that is left; the call after the next gets it.
        for (int flush = 0; flush < 2; ++flush) {
            crew.barrier();
            std::vector<pace_request> requests;
            for (size_t rank = 0; rank < 5; ++rank) requests.push_back(crew.call(rank, 0));
            for (size_t rank = 0; rank < 5; ++rank) {
                crew.workers[rank]->finish(requests[rank]);
                model[rank] += crew.value(rank);
            }
        }
        for (size_t rank = 0; rank < 5; ++rank) EXPECT_EQ(model[rank], given) << rank;
    }
}

}  // namespace
}  // namespace pace::cluster
