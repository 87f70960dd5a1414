// Reductions of the greatest elements, through the whole of it: what travels, what is owed, and that nothing is lost.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "cluster.h"
#include "worker.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kElements = 2000;

// The workers of one job, in blocks of equal size on the nodes, each with a gradient in two buffers and room for what is owed.
class Crew {
  public:
    Crew(const Cluster& cluster, const std::vector<size_t>& places,
         const std::function<void(pace_job_options&)>& tune, const std::string& job = "test") {
        const auto world = static_cast<uint32_t>(places.size());
        for (uint32_t rank = 0; rank < world; ++rank) {
            workers.push_back(
                std::make_unique<Worker>(WorkerOptions{.endpoint = cluster.endpoint(places[rank]),
                                                       .job = job,
                                                       .rank = rank,
                                                       .world = world,
                                                       .tune = tune}));
            Worker& worker = *workers.back();
            EXPECT_EQ(worker.opened(), PACE_OK) << worker.complaint();
            for (const uint64_t count : {kElements / 4, kElements - kElements / 4})
                data.push_back(worker.add_floats(count, 0));
        }
    }

    float& at(size_t rank, uint64_t element) const {
        const uint64_t first = kElements / 4;
        return element < first ? data[2 * rank][element] : data[2 * rank + 1][element - first];
    }

    void everyone(const std::function<pace_request(Worker&)>& verb) {
        std::vector<pace_request> requests;
        for (const auto& worker : workers) requests.push_back(verb(*worker));
        for (size_t i = 0; i < workers.size(); ++i) workers[i]->finish(requests[i]);
    }

    // One round of whole-numbered gradients; adds what was given and what came out.
    void round(base::Random& random) {
        given.resize(kElements);
        applied.resize(kElements);
        for (size_t rank = 0; rank < workers.size(); ++rank)
            for (uint64_t i = 0; i < kElements; ++i) {
                at(rank, i) = static_cast<float>(random.below(201)) - 100;
                given[i] += at(rank, i);
            }
        everyone([](Worker& worker) { return worker.reduce(PACE_OP_SUM); });
        for (uint64_t i = 0; i < kElements; ++i) {
            applied[i] += at(0, i);
            for (size_t rank = 1; rank < workers.size(); ++rank)
                ASSERT_EQ(at(rank, i), at(0, i)) << "rank " << rank << ", element " << i;
        }
    }

    // What is owed after that, over all workers.
    std::vector<double> owed() {
        everyone([](Worker& worker) { return worker.save_residual(); });
        std::vector<double> sum(kElements);
        for (size_t rank = 0; rank < workers.size(); ++rank)
            for (uint64_t i = 0; i < kElements; ++i) sum[i] += at(rank, i);
        return sum;
    }

    void expect_nothing_lost() {
        const std::vector<double> debts = owed();
        for (uint64_t i = 0; i < kElements; ++i)
            ASSERT_EQ(applied[i] + debts[i], given[i]) << "element " << i;
    }

    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<float*> data;
    std::vector<double> given;
    std::vector<double> applied;
};

struct Variant {
    const char* name;
    std::function<void(pace_job_options&)> tune;
};

std::vector<Variant> variants() {
    std::vector<Variant> all;
    const auto add = [&all](const char* name, const std::function<void(pace_job_options&)>& tune) {
        all.push_back({name, [tune](pace_job_options& job) {
                           job.compression = PACE_COMPRESSION_SPARDL;
                           job.density = 0.1;
                           job.dense_fallback = PACE_DENSE_FALLBACK_NEVER;
                           tune(job);
                       }});
    };
    add("spardl", [](pace_job_options& job) { job.teams = 1; });
    add("spardl-auto", [](pace_job_options&) {});
    add("spardl-plain", [](pace_job_options& job) { job.indices = PACE_INDICES_PLAIN; });
    add("topka", [](pace_job_options& job) { job.compression = PACE_COMPRESSION_TOPKA; });
    add("topkdsa", [](pace_job_options& job) { job.compression = PACE_COMPRESSION_TOPKDSA; });
    add("gtopk", [](pace_job_options& job) { job.compression = PACE_COMPRESSION_GTOPK; });
    add("oktopk", [](pace_job_options& job) { job.compression = PACE_COMPRESSION_OKTOPK; });
    return all;
}

TEST(Sparse, WhatIsAppliedAndWhatIsOwedIsWhatWasGiven) {
    Cluster cluster({.nodes = 3});
    base::Random random(7);
    for (const int32_t hierarchy : {PACE_HIERARCHY_NODE, PACE_HIERARCHY_FLAT})
        for (const Variant& variant : variants()) {
            SCOPED_TRACE(testing::Message() << variant.name << ", hierarchy " << hierarchy);
            Crew crew(
                cluster, {0, 0, 1, 2, 2, 2},
                [&](pace_job_options& job) {
                    variant.tune(job);
                    job.hierarchy = hierarchy;
                },
                std::string(variant.name) + (hierarchy == PACE_HIERARCHY_FLAT ? "-flat" : ""));
            for (int round = 0; round < 4; ++round) {
                crew.round(random);
                if (testing::Test::HasFatalFailure()) return;
                const pace_request_info& info = crew.workers[0]->info();
                EXPECT_EQ(info.dense, 0U);
                EXPECT_GT(info.entries, 0U);
                EXPECT_LT(info.entries, kElements);
            }
            crew.expect_nothing_lost();
            if (testing::Test::HasFatalFailure()) return;
        }
}

}  // namespace
}  // namespace pace::cluster
