// Number tests: a mean of finite values is finite wherever its members are, and a broadcast moves
// bits unchanged.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"
#include "tests/cluster/trainers/number_types.h"

namespace pace::cluster {
namespace {

// The node of each rank.
using Places = std::vector<size_t>;

std::string text_of(const Places& places) {
    std::string text;
    for (const size_t place : places) text += std::to_string(place);
    return text;
}

struct Number {
    int32_t type;
    double value;
    uint64_t bits;
};

// The sum of three of these numbers is more than the type holds, or more than the f32 holds in
// which halves are summed. Nodes with several members sum the greatest numbers of f32 and bf16
// without overflow.
constexpr Number kHalf{PACE_F16, 60000, 0x7B53};
constexpr Number kGreat[] = {
    kHalf,
    {PACE_F16, 65504, 0x7BFF},
    {PACE_BF16, 0x1.ep127, 0x7F70},
    {PACE_F32, 0x1.8p127, 0x7F400000},
    {PACE_F64, 0x1.8p1023, 0x7FE8000000000000},
};

size_t bytes_of(int32_t type) {
    return std::find_if(std::begin(kNumberTypes), std::end(kNumberTypes),
                        [type](const NumberType& one) { return one.type == type; })
        ->bytes;
}

class Team {
  public:
    Team(Cluster& cluster, const std::string& job, const Places& places, WorkerOptions options) {
        options.job = job;
        options.world = static_cast<uint32_t>(places.size());
        for (uint32_t rank = 0; rank < options.world; ++rank) {
            options.rank = rank;
            options.endpoint = cluster.endpoint(places[rank]);
            workers_.emplace_back(options);
            EXPECT_EQ(workers_.back().opened(), PACE_OK) << workers_.back().complaint();
        }
    }

    // Makes a buffer for each worker. `fill(rank)` fills it with bit patterns.
    template <typename Fill>
    void add_buffers(int32_t type, size_t count, Fill fill) {
        type_ = type;
        count_ = count;
        for (uint32_t rank = 0; rank < workers_.size(); ++rank) {
            void* data = workers_[rank].add_buffer(type, count);
            ASSERT_NE(data, nullptr) << workers_[rank].complaint();
            data_.push_back(static_cast<std::byte*>(data));
            for (size_t i = 0; i < count; ++i) {
                const uint64_t bits = fill(rank, i);
                std::memcpy(data_.back() + i * bytes_of(type), &bits, bytes_of(type));
            }
        }
    }

    template <typename Begin>
    void exchange(Begin begin) {
        std::vector<pace_request> requests;
        for (Worker& worker : workers_) requests.push_back(begin(worker));
        for (size_t rank = 0; rank < workers_.size(); ++rank) workers_[rank].finish(requests[rank]);
    }

    void expect_all(double value) const {
        for (size_t rank = 0; rank < data_.size(); ++rank)
            for (size_t i = 0; i < count_; ++i)
                ASSERT_EQ(decode(type_, data_[rank] + i * bytes_of(type_)), value)
                    << "element " << i << " of rank " << rank;
    }

    void expect_bits_of(size_t root) const {
        for (size_t rank = 0; rank < data_.size(); ++rank)
            EXPECT_EQ(std::memcmp(data_[rank], data_[root], count_ * bytes_of(type_)), 0)
                << "rank " << rank;
    }

  private:
    std::vector<Worker> workers_;
    std::vector<std::byte*> data_;
    int32_t type_ = PACE_F32;
    size_t count_ = 0;
};

pace_request sync(Worker& worker) {
    pace_request request{};
    pace_error error{};
    EXPECT_EQ(pace_sync(worker.session(), Slices(worker.buffers().data(), worker.buffers().size()),
                        worker.buffers().size(), nullptr, &request, &error),
              PACE_OK)
        << error.message;
    return request;
}

pace_request mean(Worker& worker) {
    return worker.reduce(PACE_OP_MEAN);
}

pace_request average(Worker& worker) {
    return worker.average(1);
}

struct Way {
    const char* name;
    pace_request (*begin)(Worker&);
    WorkerOptions options;
};

WorkerOptions tuned(void (*tune)(AskedSession&)) {
    WorkerOptions options;
    options.tune = tune;
    return options;
}

std::vector<Way> ways() {
    std::vector<Way> ways{{"reduce", mean, {}}, {"sync", sync, {}}};
    ways.push_back({"average", average, {.policy = PACE_POLICY_FULL}});
    ways.push_back({"quorum", mean, tuned([](AskedSession& job) {
                        job.set(PACE_OPT_QUORUM, "count");
                        job.set(PACE_OPT_QUORUM_COUNT, job.world);
                        job.set(PACE_OPT_REDUCE_REJECT_NONFINITE, 1);
                    })});
    return ways;
}

class Means : public testing::TestWithParam<Places> {
  protected:
    void run(const Way& way, const Number& number, size_t count) {
        SCOPED_TRACE(std::string(way.name) + " of " + std::to_string(number.value) + " x " +
                     std::to_string(count));
        Team team(cluster_, "job" + std::to_string(++jobs_), GetParam(), way.options);
        team.add_buffers(number.type, count, [&](uint32_t, size_t) { return number.bits; });
        if (HasFailure()) return;
        team.exchange(way.begin);
        team.expect_all(number.value);
    }

    Cluster cluster_{{.nodes = 2}};
    int jobs_ = 0;
};

// One count is below and one is above the size that travels in one piece.
constexpr size_t kCounts[] = {8, 100000};

INSTANTIATE_TEST_SUITE_P(On, Means,
                         testing::Values(Places{0, 0, 0}, Places{0, 0, 1}, Places{0, 1, 1},
                                         Places{0, 0, 1, 1, 1}),
                         [](const auto& places) { return text_of(places.param); });

TEST_P(Means, OfFiniteNumbersAreFinite) {
    for (const Way& way : ways())
        for (const size_t count : kCounts) run(way, kHalf, count);
}

// Nodes' partial sums are added in f32 or f64. There may be as many of the type's greatest numbers
// as nodes.
TEST_P(Means, OfTheGreatestNumbersAreFinite) {
    const Way way{"reduce", mean, {}};
    for (const Number& number : kGreat) run(way, number, 8);
    for (const Number& number : kGreat) run(way, number, 100000);
}

TEST_P(Means, ThatTravelAsHalvesAreFinite) {
    const Way way{"compressed", mean, tuned([](AskedSession& job) {
                      job.set(PACE_OPT_COMPRESSION, "f16");
                      job.set(PACE_OPT_REDUCE_REJECT_NONFINITE, 1);
                  })};
    for (const size_t count : kCounts) run(way, {PACE_F32, 40000, 0x471C4000}, count);
}

TEST_P(Means, OfTheGreatestElementsAreFinite) {
    const Way way{"top-k", mean, tuned([](AskedSession& job) {
                      job.set(PACE_OPT_COMPRESSION, "spardl");
                      job.set(PACE_OPT_TOPK_DENSITY, 1);
                      job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
                      job.set(PACE_OPT_REDUCE_REJECT_NONFINITE, 1);
                  })};
    for (const size_t count : kCounts) run(way, kHalf, count);
}

// -------------------------------------------------------------------------------------- broadcasts

struct Pattern {
    int32_t type;
    std::vector<uint64_t> bits;
};

// Signed zeros, subnormals, infinities, quiet and signaling NaNs with signs and payloads, and one.
const Pattern kPatterns[] = {
    {PACE_F32,
     {0x80000000, 1, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC12345, 0xFFC00001,
      0x7F800001, 0xFF812345, 0x3F800000}},
    {PACE_F64,
     {0x8000000000000000, 1, 0x800FFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
      0x7FF8000000000000, 0x7FF8000000012345, 0xFFF8000000000001, 0x7FF0000000000001,
      0xFFF0000000012345, 0x3FF0000000000000}},
    {PACE_F16, {0x8000, 1, 0x83FF, 0x7C00, 0xFC00, 0x7E00, 0x7E55, 0xFE01, 0x7C01, 0xFD55, 0x3C00}},
    {PACE_BF16,
     {0x8000, 1, 0x807F, 0x7F80, 0xFF80, 0x7FC0, 0x7FD5, 0xFFC1, 0x7F81, 0xFF95, 0x3F80}},
};

class Broadcasts : public testing::TestWithParam<Places> {};

INSTANTIATE_TEST_SUITE_P(On, Broadcasts,
                         testing::Values(Places{0, 0}, Places{0, 1}, Places{0, 1, 1, 0}),
                         [](const auto& places) { return text_of(places.param); });

TEST_P(Broadcasts, MoveBits) {
    Cluster cluster({.nodes = 2});
    for (const Pattern& pattern : kPatterns)
        for (const size_t count : {size_t{11}, size_t{5000}, size_t{300001}}) {
            SCOPED_TRACE("type " + std::to_string(pattern.type) + " x " + std::to_string(count));
            const std::string job = std::to_string(pattern.type) + "-" + std::to_string(count);
            Team team(cluster, job, GetParam(), {});
            team.add_buffers(pattern.type, count, [&](uint32_t rank, size_t i) {
                return rank == 1 ? pattern.bits[i % pattern.bits.size()] : 0;
            });
            if (HasFailure()) return;
            team.exchange([](Worker& worker) { return worker.broadcast(1); });
            team.expect_bits_of(1);
        }
}

}  // namespace
}  // namespace pace::cluster
