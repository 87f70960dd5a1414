// Type tests: every element type, and several buffers in one exchange, among two nodes. The results
// are compared with a slow reference.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"
#include "tests/cluster/trainers/number_types.h"

namespace pace::cluster {
namespace {

constexpr uint32_t kWorld = 4;

// The buffers of one worker, one of each type, and their former contents.
struct Vector {
    std::vector<std::byte*> data;
    std::vector<std::vector<std::byte>> before;
    std::vector<uint64_t> counts;
};

size_t bytes_of(const Vector& vector, size_t index) {
    return vector.counts[index] * kNumberTypes[index].bytes;
}

Vector add_buffers(Worker& worker, uint64_t elements) {
    Vector vector;
    for (size_t i = 0; i < std::size(kNumberTypes); ++i) {
        // The lengths differ so that no two buffers have their edges in one place.
        vector.counts.push_back(elements + 3 * i);
        vector.data.push_back(
            static_cast<std::byte*>(worker.add_buffer(kNumberTypes[i].type, vector.counts.back())));
        EXPECT_NE(vector.data.back(), nullptr) << worker.complaint();
    }
    return vector;
}

void fill(Vector& vector, base::Random& random) {
    vector.before.clear();
    for (size_t i = 0; i < vector.data.size(); ++i) {
        const auto& type = kNumberTypes[i];
        for (uint64_t j = 0; j < vector.counts[i]; ++j)
            write_some_number(type.type, random.next(), vector.data[i] + j * type.bytes);
        vector.before.emplace_back(vector.data[i], vector.data[i] + bytes_of(vector, i));
    }
}

// Every element is the weighted sum of the members' elements, within the error of the roundings.
// Each node's partial sum is rounded once, and so is the result.
void expect_weighted_sum(const std::vector<Vector>& vectors, const std::vector<double>& weights) {
    const Vector& first = vectors.front();
    for (size_t i = 0; i < first.data.size(); ++i) {
        const auto& type = kNumberTypes[i];
        int wrong = 0;
        for (uint64_t j = 0; j < first.counts[i] && wrong < 5; ++j) {
            double sum = 0;
            double size = 0;
            for (size_t rank = 0; rank < vectors.size(); ++rank) {
                const double term =
                    weights[rank] *
                    decode(type.type, vectors[rank].before[i].data() + j * type.bytes);
                sum += term;
                size += std::fabs(term);
            }
            const double got = decode(type.type, first.data[i] + j * type.bytes);
            // There are two roundings to this type, and the roundings of the additions (in f32 for
            // the half types).
            const double allowed = size * (2 * type.epsilon + 8 * 0x1p-24 * (type.bytes < 8));
            if (std::fabs(got - sum) <= allowed) continue;
            ADD_FAILURE() << type.name << "[" << j << "] is " << got << ", not " << sum;
            ++wrong;
        }
    }
}

void expect_same_bits(const std::vector<Vector>& vectors) {
    for (size_t rank = 1; rank < vectors.size(); ++rank) {
        for (size_t i = 0; i < vectors[rank].data.size(); ++i)
            EXPECT_EQ(
                std::memcmp(vectors[rank].data[i], vectors[0].data[i], bytes_of(vectors[0], i)), 0)
                << kNumberTypes[i].name << " of rank " << rank;
    }
}

class Types : public testing::TestWithParam<uint64_t> {
  protected:
    // There are two workers on each of two nodes.
    void open(WorkerOptions options) {
        options.world = kWorld;
        for (uint32_t rank = 0; rank < kWorld; ++rank) {
            options.rank = rank;
            options.endpoint = cluster_.endpoint(rank / 2);
            workers_.emplace_back(options);
            ASSERT_EQ(workers_.back().opened(), PACE_OK) << workers_.back().complaint();
            vectors_.push_back(add_buffers(workers_.back(), GetParam()));
            ASSERT_FALSE(HasFailure());
        }
    }

    void fill_all() {
        for (Vector& vector : vectors_) fill(vector, random_);
    }

    // Calls begin(worker) for all workers, then waits for all.
    template <typename Begin>
    void exchange(Begin begin) {
        std::vector<pace_request> requests;
        for (Worker& worker : workers_) requests.push_back(begin(worker));
        for (uint32_t rank = 0; rank < kWorld; ++rank) workers_[rank].finish(requests[rank]);
        ASSERT_FALSE(HasFailure()) << cluster_.logs();
    }

    // Returns the weights by rank, according to the info of the first worker.
    std::vector<double> told_weights() const {
        std::vector<double> weights(kWorld, 0);
        EXPECT_EQ(workers_[0].info().member_listed, kWorld);
        for (const pace_member& member : workers_[0].members())
            weights[member.rank] = member.weight;
        return weights;
    }

    base::Random random_{1};
    Cluster cluster_{{.nodes = 2}};
    std::vector<Worker> workers_;
    std::vector<Vector> vectors_;
};

// One size is below and one is above the size that travels in one piece.
INSTANTIATE_TEST_SUITE_P(SmallAndLarge, Types, testing::Values(5, 200003),
                         [](const auto& elements) { return std::to_string(elements.param); });

TEST_P(Types, AreReducedToTheSumAndToTheMean) {
    ASSERT_NO_FATAL_FAILURE(open({}));
    for (const int32_t op : {PACE_OP_SUM, PACE_OP_MEAN}) {
        fill_all();
        ASSERT_NO_FATAL_FAILURE(exchange([op](Worker& worker) { return worker.reduce(op); }));
        expect_weighted_sum(vectors_, std::vector(kWorld, op == PACE_OP_SUM ? 1.0 : 1.0 / kWorld));
        expect_same_bits(vectors_);
        EXPECT_EQ(workers_[0].info().node_count, 2U);
        EXPECT_GT(workers_[0].info().bytes_sent, 0U);
    }
}

TEST_P(Types, AreAveragedWithConstantWeights) {
    ASSERT_NO_FATAL_FAILURE(
        open({.policy = PACE_POLICY_PARTIAL_REDUCE, .group_size = kWorld, .group_min = kWorld}));
    for (uint64_t iteration = 0; iteration < 2; ++iteration) {
        fill_all();
        ASSERT_NO_FATAL_FAILURE(
            exchange([=](Worker& worker) { return worker.average(iteration); }));
        EXPECT_EQ(told_weights(), std::vector(kWorld, 1.0 / kWorld));
        expect_weighted_sum(vectors_, told_weights());
        expect_same_bits(vectors_);
    }
}

TEST_P(Types, AreAveragedWithTheWeightsThatTheInfoTells) {
    ASSERT_NO_FATAL_FAILURE(open({.policy = PACE_POLICY_PARTIAL_REDUCE,
                                  .group_size = kWorld,
                                  .group_min = kWorld,
                                  .weights = "dynamic"}));
    fill_all();
    // Ranks 0 to 3 bring the iterations 5, 5, 4 and 2.
    std::vector<uint64_t> iterations{5, 5, 4, 2};
    size_t next = 0;
    ASSERT_NO_FATAL_FAILURE(
        exchange([&](Worker& worker) { return worker.average(iterations[next++]); }));
    const std::vector<double> weights = told_weights();
    EXPECT_EQ(weights[0], weights[1]);
    EXPECT_GT(weights[1], weights[3]);
    EXPECT_EQ(workers_[3].info().iteration, 5U);
    EXPECT_EQ(workers_[0].members()[3].staleness, 3U);
    expect_weighted_sum(vectors_, weights);
    expect_same_bits(vectors_);
}

}  // namespace
}  // namespace pace::cluster
