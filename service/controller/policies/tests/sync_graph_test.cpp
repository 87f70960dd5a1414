// Link-cut forest and sync-graph: compared with recomputation from scratch.
#include "service/controller/policies/sync_graph/sync_graph.h"

#include <deque>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::controller {
namespace {

// Union-find over an edge list: slow and obvious.
class NaiveGraph {
  public:
    NaiveGraph(uint32_t workers, uint32_t window) : counted_(workers), window_(window) {}

    void add_group(const std::vector<Rank>& members) {
        groups_.push_back(members);
        if (groups_.size() > window_ - 1) groups_.pop_front();
    }
    void set_counted(Rank rank, bool counted) { counted_[rank] = counted; }

    std::vector<uint32_t> names() const {
        std::vector<uint32_t> name(counted_.size());
        std::iota(name.begin(), name.end(), 0U);
        for (bool changed = true; changed;) {
            changed = false;
            for (const auto& group : groups_) {
                uint32_t least = ~0U;
                for (const Rank r : group) least = std::min(least, name[r]);
                for (const Rank r : group) {
                    changed |= name[r] != least;
                    name[r] = least;
                }
            }
        }
        return name;
    }
    uint32_t components() const {
        const std::vector<uint32_t> name = names();
        std::set<uint32_t> seen;
        for (size_t r = 0; r < name.size(); ++r) {
            if (counted_[r]) seen.insert(name[r]);
        }
        return static_cast<uint32_t>(seen.size());
    }

  private:
    std::deque<std::vector<Rank>> groups_;
    std::vector<bool> counted_;
    size_t window_;
};

std::vector<Rank> random_group(base::Random& random, uint32_t workers, uint64_t size) {
    std::set<Rank> group;
    while (group.size() < size) group.insert(static_cast<Rank>(random.below(workers)));
    std::vector<Rank> members(group.begin(), group.end());
    for (size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[random.below(i)]);
    return members;
}

void compare_with_naive(uint64_t seed) {
    base::Random random(seed);
    const auto workers = static_cast<uint32_t>(2 + random.below(30));
    const auto group_size = static_cast<uint32_t>(2 + random.below(std::min(workers - 1, 5U)));
    const auto window = static_cast<uint32_t>(1 + random.below(2 * workers));
    SyncGraph fast(workers, group_size, window);
    NaiveGraph slow(workers, window);
    for (int step = 0; step < 300; ++step) {
        if (random.below(4) == 0) {
            const auto rank = static_cast<Rank>(random.below(workers));
            const bool counted = random.below(3) != 0;
            fast.set_counted(rank, counted);
            slow.set_counted(rank, counted);
        } else {
            const auto group = random_group(random, workers, 1 + random.below(group_size));
            fast.add_group(group);
            slow.add_group(group);
        }
        ASSERT_EQ(fast.components(), slow.components()) << "seed " << seed << " step " << step;
        const std::vector<uint32_t> names = slow.names();
        const auto u = static_cast<Rank>(random.below(workers));
        const auto v = static_cast<Rank>(random.below(workers));
        ASSERT_EQ(fast.component_of(u) == fast.component_of(v), names[u] == names[v])
            << "seed " << seed << " step " << step;
    }
}

TEST(SyncGraph, AgreesWithRecomputationForRandomGroupsAndCounts) {
    for (uint64_t seed = 1; seed <= 200; ++seed) compare_with_naive(seed);
}

TEST(SyncGraph, ForgetsWhatLeavesTheWindow) {
    SyncGraph graph(4, 2, 3);
    for (Rank r = 0; r < 4; ++r) graph.set_counted(r, true);
    graph.add_group(std::vector<Rank>{0, 1});
    graph.add_group(std::vector<Rank>{2, 3});
    EXPECT_FALSE(graph.is_full());
    EXPECT_EQ(graph.components(), 2U);
    graph.add_group(std::vector<Rank>{2, 3});
    EXPECT_TRUE(graph.is_full());
    // The group {0,1} leaves when the next one enters, and no longer counts.
    EXPECT_EQ(graph.components(), 3U);
}

TEST(SyncGraph, DoesNotCountComponentsOfWorkersThatNobodyWaitsFor) {
    SyncGraph graph(4, 2, 6);
    for (const Rank r : {0U, 1U}) graph.set_counted(r, true);
    EXPECT_EQ(graph.components(), 2U);
    graph.add_group(std::vector<Rank>{0, 2});
    graph.add_group(std::vector<Rank>{2, 1});
    EXPECT_EQ(graph.components(), 1U);  // connected through a worker that is not counted
}

TEST(LinkCutForest, NamesTheOldestEdgeOnAPath) {
    LinkCutForest forest(5, 4);
    forest.link(0, 0, 1, 30);
    forest.link(1, 1, 2, 10);
    forest.link(2, 2, 3, 20);
    EXPECT_EQ(forest.oldest_edge(0, 3), 1U);
    EXPECT_EQ(forest.oldest_edge(2, 3), 2U);
    EXPECT_EQ(forest.oldest_edge(3, 0), 1U);
    EXPECT_EQ(forest.oldest_edge(0, 4), LinkCutForest::kNoEdge);
    forest.cut(1);
    EXPECT_EQ(forest.oldest_edge(0, 3), LinkCutForest::kNoEdge);
    EXPECT_EQ(forest.oldest_edge(0, 1), 0U);
}

}  // namespace
}  // namespace pace::controller
