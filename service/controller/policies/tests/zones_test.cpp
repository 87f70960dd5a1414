// Zones: smart groups where nodes lie in several zones: what crosses zones, and that nobody waits
// forever.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "service/controller/policies/prague.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kSomeDigest = 7;

JobOptions smart_options(uint32_t world, uint32_t group_size) {
    JobOptions options;
    options.name = "test";
    options.world = world;
    options.policy = Policy::prague_smart;
    options.group_size = group_size;
    options.history_window = 2 * world;
    options.progress_gap = 4;
    return options;
}

// Any number of workers on nodes in zones that join, leave, take signals back and fall silent at
// any time.
class ZonedWorld {
  public:
    ZonedWorld(uint32_t world, uint32_t group_size, uint64_t seed, bool with_zones = true)
        : random_(seed), workers_(world), zones_(1 + world) {
        const uint64_t zones = 1 + random_.below(4);
        for (uint32_t& zone : zones_) zone = static_cast<uint32_t>(random_.below(zones));
        const uint64_t nodes = 1 + random_.below(world);
        for (WorkerNow& worker : workers_)
            worker.node = static_cast<NodeId>(1 + random_.below(nodes));
        ZoneOf zone_of;
        if (with_zones) zone_of = [this](NodeId node) { return zones_[node]; };
        policy_ = make_policy(smart_options(world, group_size), seed, std::move(zone_of));
        for (Rank rank = 0; rank < world; ++rank) come(rank);
        parents_.resize(world);
    }

    void step(bool calm) {
        now_ += milliseconds(1);
        // A node's zone may change at any time.
        if (!calm && random_.below(200) == 0)
            zones_[random_.below(zones_.size())] = static_cast<uint32_t>(random_.below(4));
        for (Rank rank = 0; rank < workers_.size(); ++rank) move(rank, calm);
        std::vector<Signal> signals;
        while (policy_->next_group(now_, signals)) run(signals);
    }

    // Forgets which workers have met and which have crossed.
    void begin_anew() {
        for (Rank rank = 0; rank < parents_.size(); ++rank) parents_[rank] = rank;
        members_ = far_members_ = 0;
    }
    size_t components() {
        std::set<Rank> roots;
        for (Rank rank = 0; rank < parents_.size(); ++rank) roots.insert(root_of(rank));
        return roots.size();
    }
    Duration longest_wait() const {
        Duration longest{};
        for (const WorkerNow& worker : workers_)
            if (worker.state == State::waiting) longest = std::max(longest, now_ - worker.until);
        return longest;
    }
    double far_share() const {
        return members_ == 0 ? 0
                             : static_cast<double>(far_members_) / static_cast<double>(members_);
    }

  private:
    enum class State : uint8_t { gone, computing, waiting, exchanging, silent };
    struct WorkerNow {
        State state = State::gone;
        NodeId node = 0;
        TimePoint until;  // while waiting: the start of the wait
    };

    void come(Rank rank) {
        policy_->add_member(rank, workers_[rank].node, now_);
        compute(rank);
    }
    void compute(Rank rank) {
        workers_[rank].state = State::computing;
        workers_[rank].until = now_ + milliseconds(1 + random_.below(rank == 0 ? 30 : 10));
    }
    void move(Rank rank, bool calm) {
        WorkerNow& worker = workers_[rank];
        const uint64_t chance = calm ? 1 : random_.below(400);
        if (worker.state == State::gone || worker.state == State::silent) {
            if (!calm && chance != 0) return;
            if (worker.state == State::silent) policy_->remove_member(rank);
            come(rank);
        } else if (chance == 0) {
            policy_->remove_member(rank);
            worker.state = State::gone;
        } else if (chance == 2 && worker.state == State::computing) {
            worker.state = State::silent;
        } else if (chance == 3 && worker.state == State::waiting) {
            EXPECT_TRUE(policy_->withdraw(rank, now_));
            compute(rank);
        } else if (worker.state == State::computing && now_ >= worker.until) {
            EXPECT_NE(policy_->add_signal({rank, kSomeDigest, 0, now_}),
                      GroupPolicy::Received::refused);
            worker.state = State::waiting;
            worker.until = now_;
        } else if (worker.state == State::exchanging && now_ >= worker.until) {
            policy_->release(rank, now_);
            compute(rank);
        }
    }
    // Groups are disjoint and atomic: each member waits, and is in no other group.
    void run(const std::vector<Signal>& signals) {
        const TimePoint end = now_ + milliseconds(1 + random_.below(5));
        std::set<uint32_t> zones;
        for (const Signal& signal : signals) {
            WorkerNow& worker = workers_[signal.rank];
            EXPECT_EQ(worker.state, State::waiting) << "rank " << signal.rank;
            worker.state = State::exchanging;
            worker.until = end;
            zones.insert(zones_[worker.node]);
            parents_[root_of(signal.rank)] = root_of(signals.front().rank);
        }
        members_ += signals.size();
        if (zones.size() > 1) far_members_ += signals.size();
    }
    Rank root_of(Rank rank) const {
        while (parents_[rank] != rank) rank = parents_[rank];
        return rank;
    }

    base::Random random_;
    TimePoint now_{seconds(1)};
    std::vector<WorkerNow> workers_;
    std::vector<uint32_t> zones_;  // by node; 0: unknown
    std::vector<Rank> parents_;    // union-find of the workers that have met
    std::unique_ptr<GroupPolicy> policy_;
    size_t members_ = 0;
    size_t far_members_ = 0;
};

TEST(Zones, AnyTopologyUnderChurnKeepsEveryoneMovingAndConnected) {
    uint64_t seed = 100;
    for (const uint32_t world : {2U, 3U, 5U, 8U, 13U, 17U, 40U})
        for (const uint32_t size : {2U, 3U, 5U})
            for (int topology = 0; topology < 6; ++topology) {
                SCOPED_TRACE(testing::Message() << "seed " << ++seed << ", world " << world);
                ZonedWorld workers(world, std::min(size, world), seed);
                workers.begin_anew();
                for (int i = 0; i < 1000; ++i) workers.step(false);
                EXPECT_LT(workers.longest_wait(), seconds(2));
                workers.begin_anew();
                for (int i = 0; i < 1500; ++i) workers.step(true);
                EXPECT_LT(workers.longest_wait(), seconds(1));
                EXPECT_EQ(workers.components(), 1U);
                if (::testing::Test::HasFailure()) return;
            }
}

// The same workers take the same steps, with and without known zones.
TEST(Zones, FewerCrossThanWithoutKnowingZones) {
    double with = 0;
    double without = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        for (const bool knows : {true, false}) {
            ZonedWorld workers(24, 3, seed, knows);
            workers.begin_anew();
            for (int i = 0; i < 2000; ++i) workers.step(true);
            (knows ? with : without) += workers.far_share();
        }
    }
    EXPECT_LT(with, without / 2);
    RecordProperty("with", std::to_string(with / 10));
    RecordProperty("without", std::to_string(without / 10));
}

// A plan of sixteen workers in two zones, in step: two cross, once in three steps.
TEST(Zones, InStepOneOfEachZoneCrossesOnceInThreeSteps) {
    const auto policy = make_policy(smart_options(16, 4), 1, [](NodeId node) { return node / 2; });
    TimePoint now{seconds(1)};
    // Nodes 2 and 3 are in zone 1, nodes 4 and 5 in zone 2; each has four workers.
    for (Rank rank = 0; rank < 16; ++rank) policy->add_member(rank, 2 + rank / 4, now);
    std::vector<size_t> far(6);
    for (size_t& members : far) {
        for (Rank rank = 0; rank < 16; ++rank) policy->add_signal({rank, kSomeDigest, 0, now});
        std::vector<Signal> group;
        while (policy->next_group(now, group)) {
            std::set<Rank> zones;
            for (const Signal& signal : group) zones.insert(signal.rank / 8);
            if (zones.size() > 1) members += group.size();
            for (const Signal& signal : group) policy->release(signal.rank, now);
        }
        now += milliseconds(1);
    }
    EXPECT_EQ(far, (std::vector<size_t>{2, 0, 0, 2, 0, 0}));
}

}  // namespace
}  // namespace pace::controller
