// Sparse tests: reductions of the greatest elements with all processes. The tests check what
// travels, what the residuals are, and that nothing is lost.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kSparseElements = 2000;

// The workers of one job, in blocks of equal size on the nodes. Each worker has a gradient in two
// buffers, and room for residuals.
class Crew {
  public:
    Crew(const Cluster& cluster, const std::vector<size_t>& places,
         const std::function<void(AskedSession&)>& tune, const std::string& job = "test") {
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
            for (const uint64_t count :
                 {kSparseElements / 4, kSparseElements - kSparseElements / 4})
                data.push_back(worker.add_floats(count, 0));
        }
    }

    float& at(size_t rank, uint64_t element) const {
        const uint64_t first = kSparseElements / 4;
        return element < first ? data[2 * rank][element] : data[2 * rank + 1][element - first];
    }

    void everyone(const std::function<pace_request(Worker&)>& verb) {
        std::vector<pace_request> requests;
        for (const auto& worker : workers) requests.push_back(verb(*worker));
        for (size_t i = 0; i < workers.size(); ++i) workers[i]->finish(requests[i]);
    }

    // Makes one round of whole-numbered gradients. Adds up the contributions and the results.
    void round(base::Random& random) {
        given.resize(kSparseElements);
        applied.resize(kSparseElements);
        for (size_t rank = 0; rank < workers.size(); ++rank)
            for (uint64_t i = 0; i < kSparseElements; ++i) {
                at(rank, i) = static_cast<float>(random.below(201)) - 100;
                given[i] += at(rank, i);
            }
        everyone([](Worker& worker) { return worker.reduce(PACE_OP_SUM); });
        for (uint64_t i = 0; i < kSparseElements; ++i) {
            applied[i] += at(0, i);
            for (size_t rank = 1; rank < workers.size(); ++rank)
                ASSERT_EQ(at(rank, i), at(0, i)) << "rank " << rank << ", element " << i;
        }
    }

    // Returns the residuals after that, over all workers.
    std::vector<double> owed() {
        everyone([](Worker& worker) { return worker.save_residual(); });
        std::vector<double> sum(kSparseElements);
        for (size_t rank = 0; rank < workers.size(); ++rank)
            for (uint64_t i = 0; i < kSparseElements; ++i) sum[i] += at(rank, i);
        return sum;
    }

    void expect_nothing_lost() {
        const std::vector<double> debts = owed();
        for (uint64_t i = 0; i < kSparseElements; ++i)
            ASSERT_EQ(applied[i] + debts[i], given[i]) << "element " << i;
    }

    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<float*> data;
    std::vector<double> given;
    std::vector<double> applied;
};

struct Variant {
    const char* name;
    std::function<void(AskedSession&)> tune;
};

std::vector<Variant> variants() {
    std::vector<Variant> all;
    const auto add = [&all](const char* name, const std::function<void(AskedSession&)>& tune) {
        all.push_back({name, [tune](AskedSession& job) {
                           job.set(PACE_OPT_COMPRESSION, "spardl");
                           job.set(PACE_OPT_TOPK_DENSITY, 0.1);
                           job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
                           tune(job);
                       }});
    };
    add("spardl", [](AskedSession& job) { job.set(PACE_OPT_TOPK_TEAMS, 1); });
    add("spardl-auto", [](AskedSession&) {});
    add("spardl-plain", [](AskedSession& job) { job.set(PACE_OPT_TOPK_INDICES, "plain"); });
    add("topka", [](AskedSession& job) { job.set(PACE_OPT_COMPRESSION, "topka"); });
    add("topkdsa", [](AskedSession& job) { job.set(PACE_OPT_COMPRESSION, "topkdsa"); });
    add("gtopk", [](AskedSession& job) { job.set(PACE_OPT_COMPRESSION, "gtopk"); });
    add("oktopk", [](AskedSession& job) { job.set(PACE_OPT_COMPRESSION, "oktopk"); });
    return all;
}

// One node has two workers, and one node has one.
TEST(Sparse, NothingIsOwedAtFirstAndLaterTheFirstOfANodeTellsOfIt) {
    Cluster cluster({.nodes = 2});
    for (const std::string hierarchy : {"node", "flat"}) {
        SCOPED_TRACE(hierarchy);
        Crew crew(
            cluster, {0, 0, 1},
            [&](AskedSession& job) {
                job.set(PACE_OPT_COMPRESSION, "topka");
                job.set(PACE_OPT_TOPK_DENSITY, 0.1);
                job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
                job.set(PACE_OPT_TOPK_HIERARCHY, hierarchy);
            },
            hierarchy);
        const auto owes = [&](size_t rank) {
            for (uint64_t i = 0; i < kSparseElements; ++i)
                if (crew.at(rank, i) != 0) return true;
            return false;
        };
        for (size_t rank = 0; rank < 3; ++rank) crew.at(rank, 3) = 5;
        crew.owed();
        for (size_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(owes(rank)) << rank;
        base::Random random(11);
        crew.round(random);
        crew.owed();
        EXPECT_TRUE(owes(0));
        EXPECT_EQ(owes(1), hierarchy == "flat");
        EXPECT_TRUE(owes(2));
    }
}

TEST(Sparse, WhatIsAppliedAndWhatIsOwedIsWhatWasGiven) {
    Cluster cluster({.nodes = 3});
    base::Random random(7);
    for (const std::string_view hierarchy : {"node", "flat"})
        for (const Variant& variant : variants()) {
            SCOPED_TRACE(testing::Message() << variant.name << ", hierarchy " << hierarchy);
            Crew crew(
                cluster, {0, 0, 1, 2, 2, 2},
                [&](AskedSession& job) {
                    variant.tune(job);
                    job.set(PACE_OPT_TOPK_HIERARCHY, hierarchy);
                },
                std::string(variant.name) + (hierarchy == "flat" ? "-flat" : ""));
            for (int round = 0; round < 4; ++round) {
                crew.round(random);
                if (testing::Test::HasFatalFailure()) return;
                const pace_request_info& info = crew.workers[0]->info();
                EXPECT_EQ(info.dense, 0U);
                EXPECT_GT(info.entries, 0U);
                EXPECT_LT(info.entries, kSparseElements);
            }
            crew.expect_nothing_lost();
            if (testing::Test::HasFatalFailure()) return;
        }
}

// Nodes that have waited for a while compare their calls, beside the messages of the exchange
// itself.
TEST(Sparse, ANodeThatCallsLateDoesNotConfuseTheOthers) {
    Cluster cluster({.nodes = 3});
    for (const Variant& variant : variants()) {
        SCOPED_TRACE(variant.name);
        Crew crew(cluster, {0, 1, 2}, variant.tune, variant.name);
        base::Random random(2);
        crew.round(random);
        for (size_t rank = 0; rank < 3; ++rank)
            for (uint64_t i = 0; i < kSparseElements; ++i)
                crew.given[i] += crew.at(rank, i) = static_cast<float>(random.below(100));
        std::vector<pace_request> requests;
        for (const size_t rank : {0U, 1U})
            requests.push_back(crew.workers[rank]->reduce(PACE_OP_SUM));
        EXPECT_EQ(crew.workers[0]->wait(requests[0], 250), PACE_TIMEOUT);
        requests.push_back(crew.workers[2]->reduce(PACE_OP_SUM));
        for (size_t rank = 0; rank < 3; ++rank) crew.workers[rank]->finish(requests[rank]);
        for (uint64_t i = 0; i < kSparseElements; ++i) crew.applied[i] += crew.at(2, i);
        crew.expect_nothing_lost();
        if (testing::Test::HasFailure()) return;
    }
}

// The residuals are saved at the end of one job and loaded at the beginning of another, on other
// nodes.
TEST(Sparse, WhatIsOwedIsSavedAndLoadedExactly) {
    Cluster cluster({.nodes = 3});
    for (const std::string_view hierarchy : {"node", "flat"}) {
        const auto tune = [hierarchy](AskedSession& job) {
            job.set(PACE_OPT_COMPRESSION, "spardl");
            job.set(PACE_OPT_TOPK_DENSITY, 0.05);
            job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
            job.set(PACE_OPT_TOPK_HIERARCHY, hierarchy);
        };
        const std::string name = hierarchy == "flat" ? "flat" : "node";
        base::Random random(11);
        Crew before(cluster, {0, 0, 1, 2}, tune, name + "-before");
        for (int round = 0; round < 3; ++round) before.round(random);
        const std::vector<double> owed = before.owed();
        Crew after(cluster, {2, 1, 0, 0}, tune, name + "-after");
        for (size_t rank = 0; rank < 4; ++rank)
            for (uint64_t i = 0; i < kSparseElements; ++i) after.at(rank, i) = before.at(rank, i);
        after.everyone([](Worker& worker) { return worker.load_residual(); });
        EXPECT_EQ(after.owed(), owed);
        after.given = before.given;
        after.applied = before.applied;
        for (int round = 0; round < 3; ++round) after.round(random);
        after.expect_nothing_lost();
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Sparse, WhatALeaverOwesIsHandedOver) {
    for (const std::string_view hierarchy : {"node", "flat"}) {
        Cluster cluster({.nodes = 3});
        base::Random random(5);
        Crew crew(cluster, {0, 0, 1, 2, 2}, [hierarchy](AskedSession& job) {
            job.set(PACE_OPT_COMPRESSION, "spardl");
            job.set(PACE_OPT_TOPK_DENSITY, 0.05);
            job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
            job.set(PACE_OPT_TOPK_HIERARCHY, hierarchy);
        });
        for (int round = 0; round < 3; ++round) crew.round(random);
        // First one of a node's two workers leaves. Then the last workers of two nodes leave, one
        // after the other.
        for (const size_t staying : {4U, 3U, 2U}) {
            crew.workers.resize(staying);
            crew.data.resize(2 * staying);
            crew.round(random);
            if (testing::Test::HasFatalFailure()) return;
            EXPECT_EQ(crew.workers[0]->info().member_count, staying);
            // The residual travels beside the rounds.
            std::vector<double> debts;
            const auto is_whole = [&] {
                debts = crew.owed();
                for (uint64_t i = 0; i < kSparseElements; ++i)
                    if (crew.applied[i] + debts[i] != crew.given[i]) return false;
                return true;
            };
            bool whole = false;
            for (const Deadline end = soon(); !whole && std::chrono::steady_clock::now() < end;)
                whole = is_whole();
            ASSERT_TRUE(whole) << staying << " stay, hierarchy " << hierarchy << cluster.logs();
        }
    }
}

TEST(Sparse, DenseIsTakenWhereItIsFasterAndSaid) {
    Cluster cluster({.nodes = 3});
    base::Random random(3);
    Crew crew(cluster, {0, 1, 2}, [](AskedSession& job) {
        job.set(PACE_OPT_COMPRESSION, "spardl");
        job.set(PACE_OPT_TOPK_DENSITY, 1);
        job.set(PACE_OPT_TOPK_VALUES, "f32");
        job.set(PACE_OPT_TOPK_INDICES, "plain");
    });
    crew.round(random);
    EXPECT_EQ(crew.workers[1]->info().dense, 1U);
    EXPECT_EQ(crew.workers[1]->info().entries, 0U);
    EXPECT_EQ(crew.applied, crew.given);
    EXPECT_NE(cluster.logs().find("dense is expected to be faster"), std::string::npos);
    const std::string document = cluster.pacectl(0, {"daemon", "--json"});
    EXPECT_NE(document.find("\"rounds_dense_instead\": 1"), std::string::npos) << document;
}

TEST(Sparse, OneNodeAloneSumsExactly) {
    Cluster cluster({.nodes = 1, .controller = false});
    base::Random random(3);
    Crew crew(cluster, {0, 0, 0}, [](AskedSession& job) {
        job.set(PACE_OPT_COMPRESSION, "spardl");
        job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
    });
    crew.round(random);
    EXPECT_EQ(crew.applied, crew.given);
    // Loaded residuals are paid at once.
    for (size_t rank = 0; rank < 3; ++rank)
        for (uint64_t i = 0; i < kSparseElements; ++i) crew.given[i] += crew.at(rank, i) = 1;
    crew.everyone([](Worker& worker) { return worker.load_residual(); });
    crew.round(random);
    EXPECT_EQ(crew.applied, crew.given);
    crew.expect_nothing_lost();
}

// A node that is alone, or a member that is alone in a flat reduction, has a dense result, though
// dense_fallback is never. It is told so.
TEST(Sparse, WhoeverIsAloneHasADenseResultAndIsToldSo) {
    struct AlonePlace {
        const char* job;
        const char* hierarchy;
        std::vector<size_t> of_worker;
        bool is_alone;
    };
    const std::vector<AlonePlace> places = {{"node", "node", {0, 0, 0}, true},
                                            {"member", "flat", {0}, true},
                                            {"members", "flat", {0, 0, 0}, false}};
    Cluster cluster({.nodes = 1, .controller = false});
    base::Random random(4);
    for (const AlonePlace& place : places) {
        SCOPED_TRACE(place.job);
        Crew crew(
            cluster, place.of_worker,
            [&](AskedSession& job) {
                job.set(PACE_OPT_COMPRESSION, "spardl");
                job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
                job.set(PACE_OPT_TOPK_HIERARCHY, place.hierarchy);
            },
            place.job);
        for (int round = 0; round < 2; ++round) {
            crew.round(random);
            for (const auto& worker : crew.workers) {
                EXPECT_EQ(worker->info().dense, place.is_alone ? 1U : 0U);
                EXPECT_EQ(worker->info().entries == 0, place.is_alone);
                EXPECT_LT(worker->info().entries, kSparseElements);
                EXPECT_EQ(worker->info().node_count, 1U);
            }
        }
        EXPECT_EQ(crew.applied == crew.given, place.is_alone);
        crew.expect_nothing_lost();
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Sparse, HalvesTravelAndComeOutAlike) {
    Cluster cluster({.nodes = 3});
    for (const std::string_view compression : {"f16", "bf16"}) {
        Crew crew(
            cluster, {0, 1, 1, 2},
            [compression](AskedSession& job) { job.set(PACE_OPT_COMPRESSION, compression); },
            compression == "f16" ? "f16" : "bf16");
        for (size_t rank = 0; rank < 4; ++rank)
            for (uint64_t i = 0; i < kSparseElements; ++i)
                crew.at(rank, i) = 1.0F / static_cast<float>(1 + i + rank);
        crew.everyone([](Worker& worker) { return worker.reduce(PACE_OP_MEAN); });
        // There are two roundings: of what a node sends, and of the result.
        const double tolerance = compression == "f16" ? 0x1p-10 : 0x1p-7;
        for (uint64_t i = 0; i < kSparseElements; ++i) {
            double mean = 0;
            for (size_t rank = 0; rank < 4; ++rank)
                mean += 0.25 / static_cast<double>(1 + i + rank);
            ASSERT_NEAR(crew.at(0, i), mean, mean * tolerance) << i;
            for (size_t rank = 1; rank < 4; ++rank) ASSERT_EQ(crew.at(rank, i), crew.at(0, i));
        }
        EXPECT_LT(crew.workers[0]->info().bytes_sent, kSparseElements * 3 * 2);
    }
}

TEST(Sparse, WhatIsNoNumberIsRefusedBeforeAnythingMoves) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {0, 1},
              [](AskedSession& job) { job.set(PACE_OPT_REDUCE_REJECT_NONFINITE, 1); });
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
        for (size_t rank = 0; rank < 2; ++rank)
            for (uint64_t i = 0; i < kSparseElements; ++i) crew.at(rank, i) = 1;
        crew.at(0, 700) = bad;
        const pace_request other = crew.workers[1]->reduce(PACE_OP_SUM);
        EXPECT_EQ(crew.workers[0]->wait(crew.workers[0]->reduce(PACE_OP_SUM)), PACE_E_REFUSED);
        const std::string complaint = crew.workers[0]->complaint();
        EXPECT_NE(complaint.find("buffers[1]"), std::string::npos) << complaint;
        EXPECT_NE(complaint.find("element 200"), std::string::npos) << complaint;
        EXPECT_EQ(crew.at(0, 0), 1) << "nothing has moved";
        crew.at(0, 700) = 1;
        crew.workers[0]->finish(crew.workers[0]->reduce(PACE_OP_SUM));
        crew.workers[1]->finish(other);
        EXPECT_EQ(crew.at(1, 700), 2);
    }
}

TEST(Sparse, TeamsThatDoNotDivideTheNodesAreRefused) {
    Cluster cluster({.nodes = 3});
    Crew crew(cluster, {0, 1, 2}, [](AskedSession& job) {
        job.set(PACE_OPT_COMPRESSION, "spardl");
        job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
        job.set(PACE_OPT_TOPK_TEAMS, 2);
    });
    std::vector<pace_request> requests;
    for (const auto& worker : crew.workers) requests.push_back(worker->reduce(PACE_OP_SUM));
    for (size_t rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(crew.workers[rank]->wait(requests[rank]), PACE_E_REFUSED);
        const std::string complaint = crew.workers[rank]->complaint();
        EXPECT_NE(complaint.find("teams"), std::string::npos) << complaint;
    }
    // The job works. Only this kind of reduction is not possible.
    crew.everyone([](Worker& worker) { return worker.barrier(); });
}

}  // namespace
}  // namespace pace::cluster
