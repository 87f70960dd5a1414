// What top-k has left out: for whom it is kept, who pays for it, and who gets it.
#include "daemon/families/rounds/residuals.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/families/rounds/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

class CountingPort final : public RoundPort {
  public:
    void try_start() override { ++started_; }
    void go_on() override {}
    void wait_for_view() override {}
    int started_ = 0;
};

control::JobOptions flat(control::JobOptions options) {
    options.hierarchy = control::Hierarchy::flat;
    return options;
}

class ResidualsTest : public TwoNodesOfAJob {
  protected:
    static constexpr size_t kCount = 100;

    explicit ResidualsTest(const control::JobOptions& options = top_k()) : TwoNodesOfAJob(options) {
        for (const control::Rank rank : {0U, 1U}) {
            const auto worker = std::make_shared<Worker>();
            worker->rank = rank;
            here_.job.workers[rank] = worker;
        }
    }
    static BufferPtr buffer_of(size_t count, float value) {
        auto buffer = std::make_shared<Buffer>();
        buffer->memory = base::MappedMemfd::create("test", count * sizeof(float), false).value();
        buffer->count = count;
        std::ranges::fill(floats(*buffer), value);
        return buffer;
    }
    static std::span<float> floats(Buffer& buffer) {
        return {reinterpret_cast<float*>(buffer.memory.data()), buffer.count};
    }
    WorkerPtr calling(control::Rank rank, const BufferPtr& buffer) {
        WorkerPtr worker = here_.job.workers.at(rank);
        worker->queue.clear();
        worker->queue.emplace_back().buffers = {buffer};
        return worker;
    }
    base::Result<> load(control::Rank rank, float value, size_t count = kCount) {
        base::Result<> loaded = base::make_error(base::ErrorKind::internal, "it has not ended");
        residuals_.load(calling(rank, buffer_of(count, value)),
                        [&](const base::Result<>& result) { loaded = result; });
        all_arrives();
        return loaded;
    }
    float saved(control::Rank rank) {
        const BufferPtr buffer = buffer_of(kCount, -1);
        residuals_.save(calling(rank, buffer),
                        [](const base::Result<>& result) { EXPECT_TRUE(result); });
        all_arrives();
        const auto values = floats(*buffer);
        EXPECT_TRUE(std::ranges::all_of(values, [&](float v) { return v == values.front(); }));
        return values.front();
    }

    CountingPort port_;
    Residuals residuals_{here_.job, port_};
};

TEST_F(ResidualsTest, ThereIsOneForBuffersOfTheSameLengths) {
    const std::vector<BufferPtr> buffers{buffer_of(10, 0), buffer_of(20, 0)};
    EXPECT_FALSE(residuals_.has(Residuals::kNode, buffers));
    const auto state = residuals_.state_of(Residuals::kNode, buffers);
    ASSERT_TRUE(state);
    EXPECT_TRUE(residuals_.has(Residuals::kNode, buffers));
    EXPECT_EQ(residuals_.state_of(Residuals::kNode, buffers).value(), *state);
    EXPECT_NE(residuals_.state_of(Residuals::kNode, {buffers[1], buffers[0]}).value(), *state);
    EXPECT_NE(residuals_.state_of(0, buffers).value(), *state) << "of a worker by itself";
}

TEST_F(ResidualsTest, TheJobsUserPaysForThem) {
    here_.own_services->accounts = Accounts::create({.user_bytes_max = 1000});
    const auto refused = residuals_.state_of(Residuals::kNode, {buffer_of(kCount * 10, 0)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::limit);
    EXPECT_FALSE(residuals_.owes());
    EXPECT_TRUE(residuals_.state_of(Residuals::kNode, {buffer_of(kCount, 0)}));
}

TEST_F(ResidualsTest, WhatIsLoadedIsSavedByTheFirstWorkerOfTheNode) {
    ASSERT_TRUE(load(0, 3));
    ASSERT_TRUE(load(1, 4));
    EXPECT_EQ(saved(0), 7);
    EXPECT_EQ(saved(1), 0) << "the first speaks for the node";
    EXPECT_TRUE(residuals_.owes());
    EXPECT_EQ(residuals_.kept_back(*here_.job.workers.at(0))->bytes, kCount * sizeof(float));
    EXPECT_FALSE(residuals_.kept_back(*here_.job.workers.at(1)));
}

TEST_F(ResidualsTest, NothingIsLoadedWhileAnExchangeWorksOnThem) {
    residuals_.lend();
    const auto refused = load(0, 3);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::invalid);
    residuals_.take_back();
    EXPECT_TRUE(load(0, 3));
}

TEST_F(ResidualsTest, RoundsAreBegunWhenSumsOffTheLoopHaveEnded) {
    here_.own_services->options.inline_bytes_max = 0;
    Residuals residuals(here_.job, port_);
    residuals.load(calling(0, buffer_of(kCount, 3)), [](const base::Result<>&) {});
    EXPECT_FALSE(residuals.is_ready());
    EXPECT_EQ(port_.started_, 0);
    EXPECT_TRUE(until([this] { return port_.started_ == 1; }));
    EXPECT_TRUE(residuals.is_ready());
}

class FlatResidualsTest : public ResidualsTest {
  protected:
    FlatResidualsTest() : ResidualsTest(flat(top_k())) {}
};

TEST_F(FlatResidualsTest, EachWorkerHasItsOwn) {
    ASSERT_TRUE(load(0, 3));
    ASSERT_TRUE(load(1, 4));
    EXPECT_EQ(saved(0), 3);
    EXPECT_EQ(saved(1), 4);
}

TEST_F(FlatResidualsTest, AWorkerThatLeavesLeavesItsOwnToAnother) {
    ASSERT_TRUE(load(0, 3));
    ASSERT_TRUE(load(1, 4));
    const WorkerPtr leaver = here_.job.workers.at(0);
    here_.job.workers.erase(0);
    residuals_.departed(*leaver);
    residuals_.lend();
    residuals_.exchange_ended();
    EXPECT_EQ(residuals_.kept_back(*here_.job.workers.at(1))->bytes, kCount * sizeof(float))
        << "not in the midst of an exchange";
    residuals_.take_back();
    residuals_.exchange_ended();
    EXPECT_EQ(residuals_.kept_back(*here_.job.workers.at(1))->bytes, 2 * kCount * sizeof(float));
    EXPECT_EQ(saved(1), 7);
}

TEST_F(FlatResidualsTest, TheLastWorkersWaitForTheNextView) {
    ASSERT_TRUE(load(1, 4));
    const auto workers = std::exchange(here_.job.workers, {});
    for (const auto& [rank, worker] : workers) residuals_.departed(*worker);
    residuals_.exchange_ended();
    EXPECT_TRUE(residuals_.owes());
}

}  // namespace
}  // namespace pace::daemon
