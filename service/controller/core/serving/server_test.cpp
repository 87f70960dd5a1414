// Server: the paper's worked example, the bounds of staleness, and workers that come, leave and
// prefetch.
#include "service/controller/core/serving/server.h"

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::controller {
namespace {

constexpr Rank kW1 = 0;
constexpr Rank kW2 = 1;
constexpr Rank kW3 = 2;
constexpr Rank kW4 = 3;

// A model of one number as a daemon keeps it: adds up the updates as the entries say.
class Model {
  public:
    void apply(const ServerEntry& entry, double update) {
        if (entry.step == ServerStep::push) {
            sums_[entry.version].sum += update;
            sums_[entry.version].rate = entry.rate;
        }
        for (const uint64_t version : entry.expired) {
            base_ += sums_.at(version).rate * sums_.at(version).sum;
            sums_.erase(version);
        }
    }
    double value() const {
        double value = base_;
        for (const auto& [version, part] : sums_) value += part.rate * part.sum;
        return value;
    }
    // U(v) of all live versions, as in the paper's table.
    std::string versions() const {
        std::string text;
        for (const auto& [version, part] : sums_)
            text +=
                fmt::format("{}{}:{:g}", text.empty() ? "" : " ", version, part.rate * part.sum);
        return text;
    }

  private:
    struct Part {
        double sum = 0;
        double rate = 0;
    };
    std::map<uint64_t, Part> sums_;
    double base_ = 0;
};

// A server, and the model that results from its order.
class Cluster {
  public:
    Cluster(const ServerOptions& options, Rank workers) : server(options) {
        for (Rank rank = 0; rank < workers; ++rank) server.add_member(rank);
    }

    void push(Rank rank, double update) {
        server.stored(rank, server.clocks().find(rank)->clock, now_);
        updates_[{rank, server.clocks().find(rank)->clock - 1}] = update;
        apply();
    }
    // Pulls for the step after the worker's last push.
    void pull(Rank rank) {
        const uint64_t clock = server.clocks().find(rank)->clock;
        server.asked(rank, clock, clock, now_);
        apply();
    }
    // Applies the newly ordered entries.
    void apply() {
        std::vector<ServerEntry> entries;
        server.take(entries);
        for (const ServerEntry& entry : entries) {
            EXPECT_EQ(entry.position, ++position_);
            if (entry.step == ServerStep::pull) pulled.push_back(entry.worker.rank);
            model.apply(entry, updates_[{entry.worker.rank, entry.clock}]);
        }
    }
    std::string stamps() const {
        std::string text;
        for (const auto& [rank, worker] : server.clocks().workers())
            text += fmt::format("{}{}", text.empty() ? "" : ",", worker.version);
        return text;
    }

    Server server;
    Model model;
    std::vector<Rank> pulled;

  private:
    std::map<std::pair<Rank, uint64_t>, double> updates_;
    uint64_t position_ = 0;
    TimePoint now_{};
};

ServerOptions with(Rate rate, std::optional<uint64_t> staleness, double constant = 0) {
    return {staleness, rate, constant};
}

struct Step {
    Rank worker;
    double update;  // 0: a pull
    const char* versions;
    const char* stamps;
    double value;
};

// Jiang et al., Appendix C, with its figures. In the last two lines a version would move backwards
// under the printed algorithm.
const std::vector<Step> kAppendixC = {
    {kW1, 12, "0:12", "1,0,0,0", 12},        {kW1, 8, "0:12 1:8", "2,0,0,0", 20},
    {kW2, 6, "0:9 1:8", "2,1,0,0", 17},      {kW3, 3, "0:7 1:8", "2,1,1,0", 15},
    {kW1, 4, "0:7 1:8 2:4", "3,1,1,0", 19},  {kW2, 0, "0:7 1:8 2:4", "3,3,1,0", 19},
    {kW4, -5, "1:8 2:4", "3,3,1,1", 16},     {kW2, 10, "1:8 2:4 3:10", "3,4,1,1", 26},
    {kW2, 0, "1:8 2:4 3:10", "3,4,1,1", 26}, {kW2, 20, "1:8 2:4 3:10 4:20", "3,5,1,1", 46},
};

TEST(Server, DynSgdFollowsTheTableOfAppendixC) {
    Cluster cluster(with(Rate::dynamic, 4), 4);
    for (size_t i = 0; i < kAppendixC.size(); ++i) {
        const Step& step = kAppendixC[i];
        if (step.update == 0) {
            cluster.pull(step.worker);
        } else {
            cluster.push(step.worker, step.update);
        }
        EXPECT_EQ(cluster.model.versions(), step.versions) << "step " << i;
        EXPECT_EQ(cluster.stamps(), step.stamps) << "step " << i;
        EXPECT_DOUBLE_EQ(cluster.model.value(), step.value) << "step " << i;
    }
}

TEST(Server, TheSamePushesCountAsTheOtherRatesSay) {
    Cluster sum(with(Rate::sum, 4), 4);
    Cluster constant(with(Rate::constant, 4, 0.25), 4);
    for (size_t i = 0; i + 1 < kAppendixC.size(); ++i) {
        if (kAppendixC[i].update == 0) continue;
        sum.push(kAppendixC[i].worker, kAppendixC[i].update);
        constant.push(kAppendixC[i].worker, kAppendixC[i].update);
    }
    EXPECT_DOUBLE_EQ(sum.model.value(), 38);
    EXPECT_DOUBLE_EQ(constant.model.value(), 9.5);
    EXPECT_TRUE(sum.server.live_versions().empty());
}

TEST(Server, APullWaitsUntilTheSlowestIsNearEnough) {
    Cluster cluster(with(Rate::sum, 2), 2);
    for (int i = 0; i < 3; ++i) cluster.push(kW1, 1);
    cluster.pull(kW1);  // for its step 3, while the other is at 0
    EXPECT_TRUE(cluster.server.is_waiting(kW1));
    EXPECT_TRUE(cluster.pulled.empty());
    cluster.push(kW2, 1);
    EXPECT_EQ(cluster.pulled, std::vector<Rank>{kW1});
    EXPECT_FALSE(cluster.server.is_waiting(kW1));
}

TEST(Server, BspWaitsForEveryoneAndAspForNobody) {
    Cluster bsp(with(Rate::sum, 0), 3);
    Cluster asp(with(Rate::sum, std::nullopt), 3);
    for (Cluster* cluster : {&bsp, &asp}) {
        cluster->push(kW1, 1);
        cluster->pull(kW1);
    }
    EXPECT_TRUE(bsp.pulled.empty());
    EXPECT_EQ(asp.pulled, std::vector<Rank>{kW1});
    bsp.push(kW2, 1);
    EXPECT_TRUE(bsp.pulled.empty());
    bsp.push(kW3, 1);
    EXPECT_EQ(bsp.pulled, std::vector<Rank>{kW1});
}

TEST(Server, APullHasTheWorkersOwnUpdatesThatItAskedFor) {
    Server server(with(Rate::sum, std::nullopt));
    server.add_member(kW1);
    server.asked(kW1, 1, 1, {});
    EXPECT_TRUE(server.is_waiting(kW1));
    server.stored(kW1, 0, {});
    std::vector<ServerEntry> entries;
    server.take(entries);
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(entries[0].step, ServerStep::join);
    EXPECT_EQ(entries[1].step, ServerStep::push);
    EXPECT_EQ(entries[2].step, ServerStep::pull);
}

TEST(Server, WhoLeavesIsWaitedForNoMore) {
    Cluster cluster(with(Rate::dynamic, 0), 3);
    cluster.push(kW1, 1);
    cluster.push(kW2, 1);
    cluster.pull(kW1);
    cluster.pull(kW2);
    EXPECT_TRUE(cluster.pulled.empty());
    cluster.server.remove_member(kW3, {});
    cluster.apply();
    EXPECT_EQ(cluster.pulled, (std::vector<Rank>{kW1, kW2}));
    EXPECT_TRUE(cluster.server.live_versions().empty());  // only kW3 was at version 0
    EXPECT_DOUBLE_EQ(cluster.model.value(), 1);
}

TEST(Server, WhoeverJoinsBeginsAtTheSlowestClock) {
    Cluster cluster(with(Rate::dynamic, 3), 2);
    for (int i = 0; i < 3; ++i) cluster.push(kW1, 1);
    cluster.push(kW2, 1);
    cluster.server.add_member(kW3);
    EXPECT_EQ(cluster.server.clocks().find(kW3)->clock, 1U);
    EXPECT_EQ(cluster.server.clocks().slowest(), 1U);
    // The new worker holds back no version older than the one that it gets.
    cluster.push(kW2, 1);
    EXPECT_EQ(cluster.server.live_versions().begin()->first, 2U);
}

TEST(Server, ARepeatedUpdateCountsOnce) {
    Cluster cluster(with(Rate::sum, 3), 2);
    cluster.push(kW1, 5);
    cluster.server.stored(kW1, 0, {});
    cluster.server.stored(7, 0, {});  // no member
    cluster.apply();
    EXPECT_DOUBLE_EQ(cluster.model.value(), 5);
    EXPECT_EQ(cluster.server.clocks().pushes(), 1U);
}

TEST(Server, AfterAPrefetchTheStepUnderWayStillBelongsToTheVersionThatItRestsOn) {
    Cluster cluster(with(Rate::dynamic, std::nullopt), 2);
    cluster.push(kW1, 1);
    cluster.push(kW1, 1);
    cluster.server.asked(kW2, 1, 0, {});  // while it computes its step 0
    cluster.apply();
    EXPECT_EQ(cluster.pulled, std::vector<Rank>{kW2});
    EXPECT_EQ(cluster.server.clocks().find(kW2)->version, 0U);
    cluster.push(kW2, 3);
    EXPECT_DOUBLE_EQ(cluster.model.value(), 3);  // the mean of 1 and 3, and 1
    EXPECT_EQ(cluster.server.clocks().find(kW2)->version, 2U);
}

TEST(Server, AnotherRequestReplacesOneThatWaitsAndACanceledOneIsForgotten) {
    Cluster cluster(with(Rate::sum, 0), 2);
    cluster.push(kW1, 1);
    cluster.pull(kW1);
    cluster.pull(kW1);
    EXPECT_TRUE(cluster.server.withdraw(kW1));
    EXPECT_FALSE(cluster.server.withdraw(kW1));
    cluster.push(kW2, 1);
    EXPECT_TRUE(cluster.pulled.empty());
}

TEST(Server, AnAssignedModelHasNoVersionsOfTheOldOne) {
    Cluster cluster(with(Rate::dynamic, 3), 2);
    cluster.push(kW1, 1);
    cluster.server.assign(kW1);
    EXPECT_TRUE(cluster.server.live_versions().empty());
}

// ------------------------------------------------------------------------------------- long runs

// Workers that follow Algorithm 1, at random speeds.
class Training {
  public:
    Training(const ServerOptions& options, Rank workers, uint64_t seed)
        : cluster(options, workers), random_(seed), options_(options) {
        for (Rank rank = 0; rank < workers; ++rank) known_[rank] = 0;
    }

    // One worker that does not wait makes a step. Some workers are slow.
    void step() {
        std::vector<Rank> able;
        for (const auto& [rank, clock] : known_) {
            if (cluster.server.is_waiting(rank)) continue;
            const int tickets = rank % 5 == 0 ? 1 : 6;
            for (int i = 0; i < tickets; ++i) able.push_back(rank);
        }
        ASSERT_FALSE(able.empty()) << "everyone waits";
        const Rank rank = able[random_.below(able.size())];
        cluster.push(rank, static_cast<double>(random_.below(16)) - 8);
        const uint64_t clock = cluster.server.clocks().find(rank)->clock;
        // Line 8: c_p < c - s, where c is the step just made.
        if (options_.staleness && known_[rank] + *options_.staleness + 1 < clock)
            cluster.pull(rank);
        note_pulls();
    }
    void note_pulls() {
        for (const Rank rank : cluster.pulled) known_[rank] = cluster.server.clocks().slowest();
        cluster.pulled.clear();
    }
    void leave(Rank rank) {
        known_.erase(rank);
        cluster.server.remove_member(rank, {});
        cluster.apply();
        note_pulls();
    }
    void join(Rank rank) {
        cluster.server.add_member(rank);
        known_[rank] = cluster.server.clocks().slowest();
    }
    bool has(Rank rank) const { return known_.contains(rank); }
    size_t size() const { return known_.size(); }

    Cluster cluster;

  private:
    base::Random random_;
    ServerOptions options_;
    std::map<Rank, uint64_t> known_;  // c_p
};

class LongRun : public testing::TestWithParam<uint64_t> {};

TEST_P(LongRun, ClocksAndVersionsKeepToTheBoundOfStaleness) {
    const uint64_t s = GetParam();
    uint64_t widest = 0;
    size_t most = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        Training training(with(Rate::dynamic, s), 9, seed);
        for (int i = 0; i < 4000; ++i) {
            training.step();
            const ServerClocks& clocks = training.cluster.server.clocks();
            widest = std::max(widest, clocks.fastest() - clocks.slowest());
            most = std::max(most, training.cluster.server.live_versions().size());
            ASSERT_LE(clocks.fastest() - clocks.slowest(), s + 2) << "step " << i;
            // The slowest worker, which has just pulled version c_max <= c_min + s + 2, makes s + 2
            // updates before its next pull.
            ASSERT_LE(training.cluster.server.live_versions().size(), 2 * s + 4) << "step " << i;
        }
    }
    EXPECT_EQ(widest, s + 2);
    EXPECT_GT(most, s);
}

TEST_P(LongRun, NobodyWaitsForEverWhileWorkersComeAndGo) {
    const uint64_t s = GetParam();
    base::Random random(s + 17);
    Training training(with(Rate::dynamic, s), 12, 5);
    for (int i = 0; i < 4000; ++i) {
        training.step();
        const auto rank = static_cast<Rank>(random.below(12));
        if (random.below(20) != 0) continue;
        if (!training.has(rank)) {
            training.join(rank);
        } else if (training.size() > 2) {
            training.leave(rank);
        }
        ASSERT_LE(training.cluster.server.live_versions().size(), 2 * s + 4) << "step " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Bounds, LongRun, testing::Values(0, 1, 2, 3, 10, 40));

TEST(Server, WhoeverTakesUpTheLedgerGoesOnAlike) {
    Training training(with(Rate::dynamic, 3), 7, 11);
    for (int i = 0; i < 300; ++i) {
        training.step();
        const Server& server = training.cluster.server;
        const ServerLedger ledger = server.ledger();
        // Some members come before the ledger, some after.
        Server heir(with(Rate::dynamic, 3));
        for (const auto& [rank, worker] : server.clocks().workers())
            if (rank % 2 == 0) heir.add_member(rank);
        heir.restore(ledger, TimePoint());
        ASSERT_EQ(heir.ledger(), ledger);
        for (const auto& [rank, worker] : server.clocks().workers()) heir.add_member(rank);
        ASSERT_EQ(heir.ledger().workers, ledger.workers);
        ASSERT_EQ(heir.clocks().slowest(), server.clocks().slowest());
        ASSERT_EQ(heir.clocks().oldest_version(), server.clocks().oldest_version());
    }
}

TEST(Server, WaitingIsCounted) {
    Server server(with(Rate::sum, 0));
    server.add_member(kW1);
    server.add_member(kW2);
    server.stored(kW1, 0, TimePoint{std::chrono::seconds(1)});
    server.asked(kW1, 1, 1, TimePoint{std::chrono::seconds(1)});
    server.stored(kW2, 0, TimePoint{std::chrono::seconds(4)});
    EXPECT_EQ(server.statistics().pulls, 1U);
    EXPECT_EQ(server.statistics().waited, 1U);
    EXPECT_DOUBLE_EQ(server.statistics().waited_total_s, 3);
    EXPECT_EQ(server.statistics().staleness[0], 1U);
    // kW2's push was based on version 0, while there was version 1.
    EXPECT_EQ(server.statistics().staleness[1], 1U);
}

}  // namespace
}  // namespace pace::controller
