// Result tests: results go to other buffers than the contributions. The contributions are only
// read, and the results are in the wanted place.
#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

// The buffers are cut at a multiple of 64 bytes. They have the size of several pieces.
constexpr uint64_t kResultElements = 600'000;

// Each worker has two buffers. Its contribution is rank + 1 everywhere. Its result is -1 everywhere
// at first.
class Results : public testing::Test {
  protected:
    void open(const std::vector<size_t>& nodes, WorkerOptions options) {
        options.world = std::max(options.world, static_cast<uint32_t>(nodes.size()));
        for (const size_t node : nodes) {
            options.endpoint = cluster_.endpoint(node);
            options.rank = static_cast<uint32_t>(workers_.size());
            add(options);
        }
    }
    void add(const WorkerOptions& options) {
        workers_.push_back(std::make_unique<Worker>(options));
        ASSERT_EQ(workers_.back()->opened(), PACE_OK) << workers_.back()->complaint();
        given_.push_back(
            workers_.back()->add_floats(kResultElements, static_cast<float>(options.rank + 1)));
        results_.push_back(workers_.back()->add_floats(kResultElements, -1));
    }
    pace_slice slice(size_t rank, size_t buffer, uint64_t first = 0,
                     uint64_t count = PACE_REST) const {
        return {workers_[rank]->buffers()[buffer], first, count};
    }
    // Makes a call on the worker's slices, with these results.
    template <typename Options, typename Verb>
    pace_request call(Verb verb, Options options, size_t rank, std::vector<pace_slice> given,
                      const std::vector<pace_slice>& results) {
        options.call.results = results.data();
        options.call.result_count = results.size();
        pace_request request{};
        EXPECT_EQ(verb(workers_[rank]->session(), given.data(), given.size(), &options, &request,
                       &error_),
                  PACE_OK)
            << error_.message;
        return request;
    }
    pace_request reduce(size_t rank, const std::vector<pace_slice>& given,
                        const std::vector<pace_slice>& results) {
        pace_reduce_options sum = PACE_REDUCE_OPTIONS_INIT;
        sum.op = PACE_OP_SUM;
        return call(pace_reduce, sum, rank, given, results);
    }
    pace_request average(size_t rank, uint64_t iteration, const std::vector<pace_slice>& given,
                         const std::vector<pace_slice>& results) {
        pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
        options.call.iteration = iteration;
        return call(pace_average, options, rank, given, results);
    }
    void finish(const std::vector<pace_request>& requests) {
        for (size_t rank = 0; rank < requests.size(); ++rank)
            workers_[rank]->finish(requests[rank]);
    }
    static bool holds(const float* data, uint64_t first, uint64_t last, float value) {
        return std::all_of(data + first, data + last,
                           [value](float element) { return element == value; });
    }
    static bool holds(const float* data, float value) {
        return holds(data, 0, kResultElements, value);
    }
    int64_t formed_in_results(size_t node) {
        const std::string document = cluster_.pacectl(node, {"daemon", "--json"});
        const std::string key = "\"averages_in_results\": ";
        const size_t at = document.find(key);
        return at == std::string::npos ? -1 : std::stoll(document.substr(at + key.size()));
    }

    Cluster cluster_{{.nodes = 2}};
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<float*> given_;
    std::vector<float*> results_;
    pace_error error_{};
};

// The members are on several nodes, or all on one node. One member wants its result in place.
TEST_F(Results, OfASumLeaveWhatWasGiven) {
    for (const std::vector<size_t>& nodes :
         {std::vector<size_t>{0, 0, 1}, std::vector<size_t>{1, 1, 1}}) {
        open(nodes, {});
        finish({reduce(0, {slice(0, 0)}, {slice(0, 1)}), reduce(1, {slice(1, 0)}, {slice(1, 1)}),
                reduce(2, {slice(2, 0)}, {})});
        for (size_t rank = 0; rank < 2; ++rank) {
            EXPECT_TRUE(holds(given_[rank], static_cast<float>(rank + 1)));
            EXPECT_TRUE(holds(results_[rank], 6));
        }
        EXPECT_TRUE(holds(given_[2], 6));
        EXPECT_TRUE(holds(results_[2], -1));
        workers_.clear();
        given_.clear();
        results_.clear();
    }
}

// The results are at odd places, which are not the places of the contributions.
TEST_F(Results, GoToPartsOfBuffers) {
    open({0, 1}, {});
    std::vector<pace_request> requests;
    for (size_t rank = 0; rank < 2; ++rank)
        requests.push_back(reduce(rank, {slice(rank, 0, 3, 10), slice(rank, 0, 100, 5'001)},
                                  {slice(rank, 1, 9'000, 10), slice(rank, 1, 1, 5'001)}));
    finish(requests);
    for (size_t rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(holds(given_[rank], static_cast<float>(rank + 1)));
        EXPECT_TRUE(holds(results_[rank], 0, 1, -1));
        EXPECT_TRUE(holds(results_[rank], 1, 5'002, 3));
        EXPECT_TRUE(holds(results_[rank], 5'002, 9'000, -1));
        EXPECT_TRUE(holds(results_[rank], 9'000, 9'010, 3));
        EXPECT_TRUE(holds(results_[rank], 9'010, kResultElements, -1));
    }
}

TEST_F(Results, OfAnAverageFormWhereTheyAreWanted) {
    open({0, 1, 1}, {.policy = PACE_POLICY_FULL});
    std::vector<pace_request> requests;
    for (size_t rank = 0; rank < 3; ++rank)
        requests.push_back(average(rank, 1, {slice(rank, 0)}, {slice(rank, 1)}));
    finish(requests);
    for (size_t rank = 0; rank < 3; ++rank) {
        EXPECT_TRUE(holds(given_[rank], static_cast<float>(rank + 1)));
        EXPECT_TRUE(holds(results_[rank], 2));
    }
    EXPECT_EQ(formed_in_results(0), 1);
    EXPECT_EQ(formed_in_results(1), 1);
}

// The rest of the last 64 bytes, and the bytes between two parts, belong to other data.
TEST_F(Results, OfAnAverageThatAreNotInOnePieceAreCopied) {
    open({0, 1}, {.policy = PACE_POLICY_FULL});
    const auto both = [this](const std::vector<pace_slice>& first,
                             const std::vector<pace_slice>& second, uint64_t iteration) {
        std::vector<pace_slice> given_first;
        std::vector<pace_slice> given_second;
        uint64_t at = 0;
        for (const pace_slice& part : first) {
            given_first.push_back(slice(0, 0, at, part.count));
            given_second.push_back(slice(1, 0, at, part.count));
            at += part.count;
        }
        finish({average(0, iteration, given_first, first),
                average(1, iteration, given_second, second)});
    };
    both({slice(0, 1, 0, 17)}, {slice(1, 1, 16, 17)}, 1);
    both({slice(0, 1, 160, 16), slice(0, 1, 192, 16)}, {slice(1, 1, 192, 16), slice(1, 1, 160, 16)},
         2);
    for (size_t rank = 0; rank < 2; ++rank) {
        const uint64_t first = rank == 0 ? 0 : 16;
        EXPECT_TRUE(holds(results_[rank], 0, first, -1));
        EXPECT_TRUE(holds(results_[rank], first, first + 17, 1.5F));
        EXPECT_TRUE(holds(results_[rank], first + 17, 160, -1));
        EXPECT_TRUE(holds(results_[rank], 160, 176, 1.5F));
        EXPECT_TRUE(holds(results_[rank], 176, 192, -1));
        EXPECT_TRUE(holds(results_[rank], 192, 208, 1.5F));
        EXPECT_TRUE(holds(results_[rank], 208, kResultElements, -1));
        EXPECT_EQ(formed_in_results(rank), 0);
    }
}

TEST_F(Results, OfAWorkerAloneAreWhatItGave) {
    open({0}, {.policy = PACE_POLICY_PARTIAL_REDUCE});
    finish({average(0, 1, {slice(0, 0)}, {slice(0, 1)})});
    EXPECT_TRUE(holds(results_[0], 1));
}

// An optimizer may keep two copies of the model like this, and go from one to the other.
TEST_F(Results, MayTakeTurnsWithWhatIsGiven) {
    open({0, 1}, {.policy = PACE_POLICY_FULL});
    for (size_t turn = 0; turn < 6; ++turn) {
        std::vector<pace_request> requests;
        for (size_t rank = 0; rank < 2; ++rank)
            requests.push_back(
                average(rank, turn + 1, {slice(rank, turn % 2)}, {slice(rank, 1 - turn % 2)}));
        finish(requests);
        for (size_t rank = 0; rank < 2; ++rank) {
            float* const model = turn % 2 == 0 ? results_[rank] : given_[rank];
            ASSERT_TRUE(holds(model, 1.5F + static_cast<float>(turn)));
            std::for_each(model, model + kResultElements, [](float& element) { element += 1; });
        }
    }
    EXPECT_EQ(formed_in_results(0), 6);
}

TEST_F(Results, AreTheModelThatANewcomerIsGiven) {
    open({0, 1}, {.world = 3, .policy = PACE_POLICY_PARTIAL_REDUCE, .group_size = 2});
    WorkerOptions third{.endpoint = cluster_.endpoint(0),
                        .rank = 2,
                        .world = 3,
                        .policy = PACE_POLICY_PARTIAL_REDUCE,
                        .group_size = 2};
    add(third);
    const auto broadcast = [this](size_t rank) {
        pace_request request{};
        const pace_slice model = slice(rank, 0);
        EXPECT_EQ(pace_broadcast(workers_[rank]->session(), &model, 1, nullptr, &request, &error_),
                  PACE_OK)
            << error_.message;
        return request;
    };
    finish({broadcast(0), broadcast(1), broadcast(2)});
    workers_[2]->drop();
    std::fill_n(given_[1], kResultElements, 2.0F);
    finish(
        {average(0, 1, {slice(0, 0)}, {slice(0, 1)}), average(1, 1, {slice(1, 0)}, {slice(1, 1)})});
    // Both workers go on with the result, and use their contributions' memory for something else.
    for (size_t rank = 0; rank < 2; ++rank) std::fill_n(given_[rank], kResultElements, 100.0F);
    workers_.pop_back();
    given_.pop_back();
    results_.pop_back();
    add(third);
    const pace_request joining = broadcast(2);
    // A donor gives its model at its next call. Here this call names other slices.
    for (uint64_t iteration = 2; workers_[2]->wait(joining, 0) == PACE_TIMEOUT; ++iteration)
        finish({average(0, iteration, {slice(0, 0, 0, 16)}, {}),
                average(1, iteration, {slice(1, 0, 0, 16)}, {})});
    EXPECT_EQ(given_[2][0], 1.5F) << workers_[2]->complaint();
}

// The average begins before all of the contribution is made.
TEST_F(Results, OfAnOrderedAverageComeAsWell) {
    open({0, 1}, {.policy = PACE_POLICY_FULL});
    std::vector<pace_request> requests;
    for (size_t rank = 0; rank < 2; ++rank) {
        pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
        options.order = PACE_ORDER_FORWARD;
        options.call.iteration = 1;
        requests.push_back(call(pace_average, options, rank, {slice(rank, 0)}, {slice(rank, 1)}));
    }
    for (size_t rank = 0; rank < 2; ++rank)
        for (uint64_t ready = kResultElements / 4; ready <= kResultElements;
             ready += kResultElements / 4)
            ASSERT_EQ(pace_request_ready(workers_[rank]->session(), requests[rank], ready, &error_),
                      PACE_OK)
                << error_.message;
    finish(requests);
    for (size_t rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(holds(given_[rank], static_cast<float>(rank + 1)));
        EXPECT_TRUE(holds(results_[rank], 1.5F));
    }
}

TEST_F(Results, OfASyncAreTheMean) {
    open({0, 1}, {});
    std::vector<pace_request> requests;
    for (size_t rank = 0; rank < 2; ++rank)
        requests.push_back(call(pace_sync, pace_sync_options PACE_SYNC_OPTIONS_INIT, rank,
                                {slice(rank, 0)}, {slice(rank, 1)}));
    finish(requests);
    for (size_t rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(holds(given_[rank], static_cast<float>(rank + 1)));
        EXPECT_TRUE(holds(results_[rank], 1.5F));
    }
}

// The daemon dies in the middle of many sums. Whatever they left, the contributions are unchanged
// and may be contributed again.
TEST_F(Results, LeaveWhatWasGivenThoughTheDaemonDies) {
    open({0, 1}, {.policy = PACE_POLICY_FULL});
    pace_request first{};
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) {
        first = average(0, iteration, {slice(0, 0)}, {slice(0, 1)});
        finish({first, average(1, iteration, {slice(1, 0)}, {slice(1, 1)})});
    }
    std::fill_n(results_[0], kResultElements, -1.0F);
    first = average(0, 4, {slice(0, 0)}, {slice(0, 1)});
    const pace_request second = average(1, 4, {slice(1, 0)}, {slice(1, 1)});
    cluster_.daemon(0).signal(SIGKILL);
    const pace_status status = workers_[0]->wait(first);
    EXPECT_TRUE(status == PACE_OK || status == PACE_E_DAEMON_GONE) << workers_[0]->complaint();
    (void)workers_[1]->cancel(second);
    EXPECT_TRUE(holds(given_[0], 1));
    EXPECT_TRUE(holds(given_[1], 2));
    const bool is_whole = status == PACE_OK || workers_[0]->info().contents == PACE_CONTENTS_RESULT;
    if (is_whole) {
        EXPECT_TRUE(holds(results_[0], 1.5F));
    }
}

}  // namespace
}  // namespace pace::cluster
