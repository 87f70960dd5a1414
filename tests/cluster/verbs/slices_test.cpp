// Slice tests: parts of buffers in calls, among nodes and within one. The named parts change, and
// nothing beside them.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kSliceElements = 100'000;

class SlicesOfAll : public testing::Test {
  protected:
    void open(const std::vector<size_t>& nodes, const std::string& policy) {
        for (uint32_t rank = 0; rank < nodes.size(); ++rank) {
            workers_.push_back(
                std::make_unique<Worker>(WorkerOptions{.endpoint = cluster_.endpoint(nodes[rank]),
                                                       .rank = rank,
                                                       .world = static_cast<uint32_t>(nodes.size()),
                                                       .policy = policy}));
            ASSERT_EQ(workers_[rank]->opened(), PACE_OK) << workers_[rank]->complaint();
            data_.push_back(
                workers_[rank]->add_floats(kSliceElements, static_cast<float>(rank + 1)));
        }
    }
    pace_slice slice(size_t rank, uint64_t first, uint64_t count) const {
        return {workers_[rank]->buffers()[0], first, count};
    }
    // Returns whether [first, last) of the worker's buffer holds this value.
    bool holds(size_t rank, uint64_t first, uint64_t last, float value) const {
        return std::all_of(data_[rank] + first, data_[rank] + last,
                           [value](float element) { return element == value; });
    }

    // The slices hold the sum of 1, 2 and 3, and what is beside them the worker's own number.
    void expect_sums_in_slices(size_t rank) const {
        const auto own = static_cast<float>(rank + 1);
        EXPECT_TRUE(holds(rank, 0, 1, own));
        EXPECT_TRUE(holds(rank, 1, 8, 6));
        EXPECT_TRUE(holds(rank, 8, 11, own));
        EXPECT_TRUE(holds(rank, 11, 40'001, 6));
        EXPECT_TRUE(holds(rank, 40'001, 40'003, own));
        EXPECT_TRUE(holds(rank, 40'003, kSliceElements, 6));
    }

    Cluster cluster_{{.nodes = 2}};
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<float*> data_;
    pace_error error_{};
};

// The slices are like the buckets of one flat gradient. They have odd lengths and odd places.
TEST_F(SlicesOfAll, BucketsOfOneBufferAreReducedBesideEachOther) {
    open({0, 0, 1}, PACE_POLICY_ALL_REDUCE);
    pace_reduce_options sum = PACE_REDUCE_OPTIONS_INIT;
    sum.op = PACE_OP_SUM;
    std::vector<std::array<pace_request, 2>> requests(workers_.size());
    for (size_t rank = 0; rank < workers_.size(); ++rank) {
        const pace_slice late = slice(rank, 40'003, PACE_REST);
        const std::array<pace_slice, 2> early{slice(rank, 1, 7), slice(rank, 11, 39'990)};
        sum.call.user_data = 1;
        ASSERT_EQ(
            pace_reduce(workers_[rank]->session(), &late, 1, &sum, &requests[rank][0], &error_),
            PACE_OK)
            << error_.message;
        sum.call.user_data = 2;
        ASSERT_EQ(pace_reduce(workers_[rank]->session(), early.data(), 2, &sum, &requests[rank][1],
                              &error_),
                  PACE_OK)
            << error_.message;
    }
    for (size_t rank = 0; rank < workers_.size(); ++rank) {
        uint64_t told = 0;
        for (int i = 0; i < 2; ++i) {
            pace_request ended{};
            pace_request_info info = PACE_REQUEST_INFO_INIT;
            ASSERT_EQ(pace_session_next(workers_[rank]->session(), Worker::kPatienceMs, nullptr,
                                        &ended, &info, &error_),
                      PACE_OK)
                << error_.message;
            EXPECT_EQ(ended.id, requests[rank][info.user_data - 1].id);
            told += info.user_data;
        }
        EXPECT_EQ(told, 3U);
        expect_sums_in_slices(rank);
    }
}

// A copy of a part is averaged, while the trainer goes on with the whole buffer.
TEST_F(SlicesOfAll, APartIsAveragedBesideComputing) {
    open({0, 1}, PACE_POLICY_FULL);
    std::vector<pace_request> requests(2);
    for (size_t rank = 0; rank < 2; ++rank) {
        pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
        how.keep_local = 1;
        const pace_slice part = slice(rank, 13, 50'000);
        ASSERT_EQ(pace_average(workers_[rank]->session(), &part, 1, &how, &requests[rank], &error_),
                  PACE_OK)
            << error_.message;
        for (uint64_t i = 0; i < kSliceElements; ++i) data_[rank][i] += 10;
    }
    for (size_t rank = 0; rank < 2; ++rank) {
        workers_[rank]->finish(requests[rank]);
        const auto own = static_cast<float>(rank + 11);
        EXPECT_TRUE(holds(rank, 0, 13, own));
        EXPECT_TRUE(holds(rank, 13, 50'013, 11.5F));
        EXPECT_TRUE(holds(rank, 50'013, kSliceElements, own));
    }
}

// The places may differ between workers.
TEST_F(SlicesOfAll, AModelIsBroadcastFromAPartIntoAnother) {
    open({0, 1}, PACE_POLICY_ALL_REDUCE);
    std::vector<pace_request> requests(2);
    for (size_t rank = 0; rank < 2; ++rank) {
        const pace_slice part = slice(rank, rank == 0 ? 5 : 50'005, 1'001);
        ASSERT_EQ(
            pace_broadcast(workers_[rank]->session(), &part, 1, nullptr, &requests[rank], &error_),
            PACE_OK)
            << error_.message;
    }
    for (size_t rank = 0; rank < 2; ++rank) workers_[rank]->finish(requests[rank]);
    EXPECT_TRUE(holds(0, 0, kSliceElements, 1));
    EXPECT_TRUE(holds(1, 0, 50'005, 2));
    EXPECT_TRUE(holds(1, 50'005, 51'006, 1));
    EXPECT_TRUE(holds(1, 51'006, kSliceElements, 2));
}

}  // namespace
}  // namespace pace::cluster
