// Policy auto in the core: changes while the job runs, loses no signal, and reports the change.
#include <algorithm>

#include "service/controller/core/options/job_options.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

JobOptions automatic(uint32_t world) {
    JobOptions options = averaging(world);
    options.policy = Policy::automatic;
    return options;
}

// Trainers with one worker per node that compute, signal, and exchange for a millisecond, until
// stopped.
class Trainers {
  public:
    Trainers(CoreFixture& core, uint32_t world)
        : core_(core), nodes_(core.start(automatic(world))) {
        for (Rank rank = 0; rank < world; ++rank) {
            Worker& worker = workers_.emplace_back();
            worker.rank = rank;
            worker.step = milliseconds(20);
        }
        for (Worker& worker : workers_) compute(worker);
    }

    void slow(Rank rank, int factor) { workers_[rank].step = factor * milliseconds(20); }

    void run(milliseconds length) {
        const TimePoint end = core_.now() + length;
        while (core_.now() < end) {
            core_.pass(microseconds(500));
            for (Worker& worker : workers_) advance(worker);
            if (++turns_ % 200 == 0) core_.hear(nodes_);
            take_orders();
        }
    }
    uint64_t orders_of(Rank rank) const { return workers_[rank].orders; }
    const std::vector<Note>& notes() const { return notes_; }
    Duration longest_wait() const { return longest_wait_; }

  private:
    enum class Phase : uint8_t { computing, waiting, exchanging };
    struct Worker {
        Rank rank = 0;
        Duration step{};
        Phase phase = Phase::computing;
        TimePoint until;
        TimePoint signalled;
        uint64_t iteration = 0;
        uint64_t orders = 0;
        GroupId group = 0;
    };

    void compute(Worker& worker) {
        worker.phase = Phase::computing;
        ++worker.iteration;
        // No two workers ever take exactly the same time.
        worker.until = core_.now() + worker.step + microseconds(37 * worker.rank);
    }

    void advance(Worker& worker) {
        if (worker.phase == Phase::waiting || core_.now() < worker.until) return;
        if (worker.phase == Phase::exchanging) {
            core_.send(from(nodes_[worker.rank], GroupDone{1, worker.group, false, 500'000, 100}));
            return compute(worker);
        }
        worker.phase = Phase::waiting;
        worker.signalled = core_.now();
        core_.send(from(nodes_[worker.rank], Ready{1, worker.rank, worker.iteration, 7}));
    }

    void take_orders() {
        for (const Note& note : core_.sent<Note>())
            if (note.event == "auto") notes_.push_back(note);
        for (const GroupOrder& order : core_.take<GroupOrder>()) {
            for (const Part& part : order.members) {
                Worker& worker = workers_[part.rank];
                EXPECT_EQ(worker.phase, Phase::waiting) << "rank " << part.rank;
                worker.phase = Phase::exchanging;
                worker.group = order.group;
                worker.until = core_.now() + milliseconds(1);
                longest_wait_ = std::max(longest_wait_, core_.now() - worker.signalled);
                ++worker.orders;
            }
        }
    }

    CoreFixture& core_;
    std::vector<NodeId> nodes_;
    std::vector<Worker> workers_;
    std::vector<Note> notes_;
    Duration longest_wait_{};
    uint64_t turns_ = 0;
};

TEST(CoreAuto, ChangesToFullAmongEqualsAndBackWhenOneBecomesSlow) {
    CoreFixture core;
    Trainers trainers(core, 8);
    ASSERT_TRUE(core.job().automatic);
    EXPECT_EQ(core.job().automatic->policy, Policy::partial_reduce);
    EXPECT_EQ(core.job().automatic->group_size, 3U);
    trainers.run(milliseconds(2000));
    EXPECT_EQ(core.job().automatic->policy, Policy::full);
    EXPECT_EQ(core.job().automatic->group_size, 0U);
    EXPECT_EQ(core.job().automatic->switches, 1U);
    ASSERT_EQ(trainers.notes().size(), 1U);
    EXPECT_FALSE(trainers.notes()[0].warning);
    EXPECT_TRUE(trainers.notes()[0].detail.starts_with("job job: full instead of partial-reduce"))
        << trainers.notes()[0].detail;
    EXPECT_EQ(trainers.notes()[0].detail, "job job: full " + core.job().automatic->reason);

    trainers.slow(7, 5);
    trainers.run(milliseconds(8000));
    EXPECT_EQ(core.job().automatic->policy, Policy::partial_reduce);
    EXPECT_EQ(core.job().automatic->switches, 2U);
    EXPECT_EQ(core.job().groups_failed, 0U);
    EXPECT_LE(trainers.longest_wait(), milliseconds(150));
    for (Rank rank = 0; rank < 7; ++rank) EXPECT_GE(trainers.orders_of(rank), 150U) << rank;
}

// At a change, a worker that waits continues to wait, in its turn.
TEST(CoreAuto, OfAnySmallWorldLosesNobody) {
    for (uint32_t world = 1; world <= 9; ++world) {
        CoreFixture core;
        Trainers trainers(core, world);
        trainers.run(milliseconds(3000));
        SCOPED_TRACE(::testing::Message() << world << " workers");
        for (Rank rank = 0; rank < world; ++rank) EXPECT_GE(trainers.orders_of(rank), 60U) << rank;
        EXPECT_LE(core.job().automatic->switches, 1U);
    }
}

TEST(CoreAuto, IsToldWeightsAndNothingThatItChooses) {
    const auto refusal_of = [](auto change) {
        JobOptions options = automatic(8);
        change(options);
        const auto checked = check(options);
        return checked ? std::string() : checked.error().message;
    };
    EXPECT_EQ(refusal_of([](JobOptions&) {}), "");
    EXPECT_EQ(refusal_of([](JobOptions& o) {
                  o.weights = Weights::dynamic;
                  o.missing = Missing::initial;
                  o.alpha = 0.25;
              }),
              "");
    EXPECT_EQ(
        refusal_of([](JobOptions& o) { o.group_size = 3; }),
        "group.size is 3, but it counts with policy partial-reduce, prague-random, prague-smart, "
        "ad-psgd or full alone; leave it out or use policy partial-reduce, prague-random, "
        "prague-smart, ad-psgd or full");
    EXPECT_NE(refusal_of([](JobOptions& o) { o.history_window = 30; }), "");
    EXPECT_EQ(refusal_of([](JobOptions& o) { o.group_min = 3; }),
              "group.min is 3, but it counts with policy partial-reduce alone; leave it out or use "
              "policy partial-reduce");
    EXPECT_NE(refusal_of([](JobOptions& o) { o.group_wait_ms = 5; }), "");
    EXPECT_NE(refusal_of([](JobOptions& o) { o.progress_gap = 5; }), "");
    const JobOptions checked = *check(automatic(8));
    EXPECT_EQ(*check(checked), checked);  // as in the journal
    EXPECT_EQ(with_shape(checked, Policy::partial_reduce, 3).history_window, 8U);
    EXPECT_EQ(with_shape(checked, Policy::partial_reduce, 3).group_min, 2U);
    EXPECT_EQ(with_shape(checked, Policy::full, 0).group_size, 8U);
}

}  // namespace
}  // namespace pace::controller
