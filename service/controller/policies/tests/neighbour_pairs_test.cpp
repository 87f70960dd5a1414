// Neighbour pairs: graphs of many shapes, while workers die, freeze, return and take their signals
// back.
#include "service/controller/policies/neighbour_pairs.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Edges = std::vector<uint32_t>;

JobOptions pairs_on(const Edges& edges, uint32_t world) {
    JobOptions options;
    options.name = "test";
    options.world = world;
    options.policy = Policy::ad_psgd;
    options.group_size = 2;
    options.history_window = 2 * world;
    options.edges = edges;
    return options;
}

Edges tree_of(uint32_t world, const std::function<uint32_t(uint32_t)>& parent_of) {
    Edges edges;
    for (uint32_t rank = 1; rank < world; ++rank)
        edges.insert(edges.end(), {parent_of(rank), rank});
    return edges;
}

struct Graph {
    std::string name;
    Edges edges;
};

std::vector<Graph> graphs_of(uint32_t world, base::Random& random) {
    const auto drawn = [&random](uint32_t rank) { return static_cast<Rank>(random.below(rank)); };
    std::vector<Graph> graphs{{"star", tree_of(world, [](uint32_t) { return 0U; })},
                              {"line", tree_of(world, [](uint32_t rank) { return rank - 1; })},
                              {"tree", tree_of(world, drawn)}};
    Edges ring = graphs[1].edges;
    if (world > 2) ring.insert(ring.end(), {0, world - 1});
    graphs.push_back({"ring", ring});
    Edges meshed = tree_of(world, drawn);
    Edges complete;
    for (uint32_t b = 1; b < world; ++b)
        for (uint32_t a = 0; a < b; ++a) {
            complete.insert(complete.end(), {a, b});
            if (random.below(4) == 0) meshed.insert(meshed.end(), {a, b});
        }
    graphs.push_back({"random", meshed});
    graphs.push_back({"complete", complete});
    return graphs;
}

// Simulates workers in steps of a millisecond: each computes, signals, waits and exchanges in a
// loop; some leave and return.
class Town {
  public:
    Town(const Graph& graph, uint32_t world, uint64_t seed)
        : options_(pairs_on(graph.edges, world)),
          policy_(make_policy(options_, seed)),
          random_(seed),
          workers_(world) {
        for (size_t i = 0; i < graph.edges.size(); i += 2) {
            edges_.emplace(graph.edges[i], graph.edges[i + 1]);
            edges_.emplace(graph.edges[i + 1], graph.edges[i]);
        }
        for (Rank rank = 0; rank < world; ++rank) {
            workers_[rank].pace = 1 + random_.below(5);
            come(rank);
        }
    }

    // With `churn`, some worker dies, freezes, returns, or takes its signal back every few
    // milliseconds.
    void run(int milliseconds_long, bool churn) {
        for (int i = 0; i < milliseconds_long; ++i) {
            now_ += milliseconds(1);
            if (churn && random_.below(10) == 0)
                disturb(static_cast<Rank>(random_.below(workers_.size())));
            for (Rank rank = 0; rank < workers_.size(); ++rank) tick(rank);
            take_groups();
        }
    }
    void bring_all_back() {
        for (Rank rank = 0; rank < workers_.size(); ++rank) {
            if (workers_[rank].phase == Phase::away) come(rank);
            workers_[rank].stopped = false;
        }
    }
    void kill(Rank rank) {
        policy_->remove_member(rank);
        workers_[rank].phase = Phase::away;
    }

    uint64_t groups_of(Rank rank) const { return workers_[rank].groups; }
    uint64_t alone_of(Rank rank) const { return workers_[rank].alone; }
    milliseconds longest_wait() const { return longest_wait_; }
    void forget_waits() { longest_wait_ = {}; }

  private:
    enum class Phase : uint8_t { away, computing, waiting, exchanging };
    struct Worker {
        Phase phase = Phase::away;
        bool stopped = false;  // the process is stopped and does nothing
        uint64_t pace = 1;
        uint64_t left = 0;  // milliseconds left of the phase
        TimePoint since;
        uint64_t groups = 0;
        uint64_t alone = 0;
    };

    void come(Rank rank) {
        policy_->add_member(rank, 1, now_);
        compute(rank);
    }
    void compute(Rank rank) {
        workers_[rank].phase = Phase::computing;
        workers_[rank].left = workers_[rank].pace + random_.below(4);
    }

    void disturb(Rank rank) {
        Worker& worker = workers_[rank];
        switch (random_.below(4)) {
            case 0:
                if (worker.phase != Phase::away) kill(rank);
                break;
            case 1:
                if (worker.phase == Phase::away) come(rank);
                break;
            case 2:
                worker.stopped = !worker.stopped && worker.phase == Phase::computing;
                if (worker.stopped) policy_->freeze(rank);
                break;
            default:
                if (worker.phase != Phase::waiting) break;
                EXPECT_TRUE(policy_->withdraw(rank, now_));
                compute(rank);
        }
    }

    void tick(Rank rank) {
        Worker& worker = workers_[rank];
        const bool waits = worker.phase == Phase::away || worker.phase == Phase::waiting;
        if (waits || worker.stopped || --worker.left > 0) return;
        if (worker.phase == Phase::exchanging) {
            policy_->release(rank, now_);
            return compute(rank);
        }
        EXPECT_EQ(policy_->add_signal({rank, 7, 0, now_}), GroupPolicy::Received::queued);
        worker.phase = Phase::waiting;
        worker.since = now_;
    }

    void take_groups() {
        std::vector<Signal> group;
        while (policy_->next_group(now_, group)) {
            ASSERT_LE(group.size(), 2U);
            if (group.size() == 2) {
                EXPECT_TRUE(edges_.contains({group[0].rank, group[1].rank}))
                    << group[0].rank << " and " << group[1].rank << " are no neighbours";
            }
            for (const Signal& signal : group) begin_exchange(signal.rank, group.size() == 1);
        }
    }

    void begin_exchange(Rank rank, bool alone) {
        Worker& worker = workers_[rank];
        EXPECT_EQ(worker.phase, Phase::waiting) << rank;
        longest_wait_ =
            std::max(longest_wait_, std::chrono::duration_cast<milliseconds>(now_ - worker.since));
        worker.phase = Phase::exchanging;
        worker.left = 1 + random_.below(2);
        ++worker.groups;
        worker.alone += alone ? 1 : 0;
    }

    JobOptions options_;
    std::unique_ptr<GroupPolicy> policy_;
    base::Random random_;
    std::set<std::pair<Rank, Rank>> edges_;
    std::vector<Worker> workers_;
    TimePoint now_{seconds(1)};
    milliseconds longest_wait_{};
};

TEST(NeighbourPairs, OnEveryGraphPairNeighboursAndStarveNobody) {
    for (uint32_t world = 2; world <= 17; ++world) {
        base::Random random(world);
        for (const Graph& graph : graphs_of(world, random)) {
            SCOPED_TRACE(::testing::Message()
                         << graph.name << " of " << world << ", seed " << world);
            Town town(graph, world, world);
            town.run(3000, false);
            for (Rank rank = 0; rank < world; ++rank) {
                // The hub of a star has a turn every 12 ms or so; each leaf gets its share of them.
                EXPECT_GE(town.groups_of(rank), 3000 / (12 * world)) << "rank " << rank;
                EXPECT_EQ(town.alone_of(rank), 0U) << "rank " << rank;
            }
            // A star's last leaf waits for the hub's other leaves, at most ten milliseconds each.
            EXPECT_LE(town.longest_wait(), milliseconds(20) * world);
        }
    }
}

TEST(NeighbourPairs, OnEveryGraphGoOnWhoeverComesAndGoes) {
    for (uint32_t world = 2; world <= 17; ++world) {
        base::Random random(100 + world);
        for (const Graph& graph : graphs_of(world, random)) {
            const uint64_t seed = 1000 + world;
            SCOPED_TRACE(::testing::Message()
                         << graph.name << " of " << world << ", seed " << seed);
            Town town(graph, world, seed);
            town.run(3000, true);
            town.bring_all_back();
            town.run(1500, false);  // a worker stopped silently is noticed in a second
            town.forget_waits();
            std::vector<uint64_t> before;
            for (Rank rank = 0; rank < world; ++rank) before.push_back(town.groups_of(rank));
            town.run(1500, false);
            for (Rank rank = 0; rank < world; ++rank)
                EXPECT_GE(town.groups_of(rank), before[rank] + 10) << "rank " << rank;
            EXPECT_LE(town.longest_wait(), milliseconds(20) * world);
        }
    }
}

TEST(NeighbourPairs, AWorkerWithoutNeighboursGetsItsOwnModelUntilOneIsBack) {
    Town town({"line", {0, 1, 1, 2, 2, 3}}, 4, 1);
    town.run(200, false);
    town.kill(1);
    const uint64_t alone_before = town.alone_of(0);
    town.forget_waits();
    town.run(400, false);
    EXPECT_GE(town.alone_of(0), alone_before + 20);
    EXPECT_EQ(town.alone_of(2), 0U);
    EXPECT_EQ(town.alone_of(3), 0U);
    town.bring_all_back();
    town.run(20, false);
    const uint64_t alone = town.alone_of(0);
    town.run(400, false);
    EXPECT_EQ(town.alone_of(0), alone);
}

// All leaves wait in pairs with the hub when it dies: each leaf is released.
TEST(NeighbourPairs, APairIsReleasedWhenItsOtherMemberDies) {
    for (const bool frozen : {false, true}) {
        const auto policy = make_policy(pairs_on({0, 1, 0, 2, 0, 3}, 4), 1);
        const TimePoint now{seconds(1)};
        std::vector<Signal> group;
        for (Rank rank = 0; rank < 4; ++rank) policy->add_member(rank, 1, now);
        for (Rank rank = 1; rank < 4; ++rank) policy->add_signal({rank, 7, 0, now});
        EXPECT_FALSE(policy->next_group(now, group));
        if (frozen) {
            policy->freeze(0);
        } else {
            policy->remove_member(0);
        }
        std::set<Rank> released;
        while (policy->next_group(now, group)) {
            ASSERT_EQ(group.size(), 1U);
            released.insert(group.front().rank);
        }
        EXPECT_EQ(released, (std::set<Rank>{1, 2, 3}));
    }
}

TEST(NeighbourPairs, DrawAllNeighboursAlike) {
    const auto policy = make_policy(pairs_on({0, 1, 0, 2, 0, 3}, 4), 5);
    TimePoint now{seconds(1)};
    std::vector<Signal> group;
    std::vector<int> met(4);
    for (Rank rank = 0; rank < 4; ++rank) policy->add_member(rank, 1, now);
    for (int i = 0; i < 3000; ++i) {
        now += milliseconds(1);
        policy->add_signal({0, 7, 0, now});  // the hub asks first, so that it draws
        for (Rank rank = 1; rank < 4; ++rank)
            if (!policy->is_waiting(rank)) policy->add_signal({rank, 7, 0, now});
        ASSERT_TRUE(policy->next_group(now, group));
        for (const Signal& signal : group) {
            ++met[signal.rank];
            policy->release(signal.rank, now);
        }
    }
    EXPECT_EQ(met[0], 3000);
    for (Rank rank = 1; rank < 4; ++rank) EXPECT_NEAR(met[rank], 1000, 150) << rank;
}

}  // namespace
}  // namespace pace::controller
