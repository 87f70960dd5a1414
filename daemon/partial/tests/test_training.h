// Training, for tests: the workers of a TestJob, as obvious as possible. Each worker computes,
// calls, and waits for its round unless the round has ended without it. Gradients are whole
// numbers.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "daemon/partial/tests/test_round.h"

namespace pace::partial {

class Training {
  public:
    // `tell` tells of some of the stores' work (HeldStrand). It returns false when all work is
    // told.
    Training(
        TestJob& job, uint64_t seed, std::function<bool()> tell = [] { return false; })
        : job_(job), random_(seed), tell_(std::move(tell)), ranks_(job.roster().ranks()) {
        for (const Rank rank : ranks_) models_[rank] = 0;
    }

    // Runs one round with calls in random order. A worker that is behind gets what it missed when
    // it calls. Its gradient counts in the next take.
    void round(uint64_t number) {
        job_.begin(number);
        std::vector<Rank> order = ranks_;
        shuffle(order, random_);
        std::set<Rank> waiting;
        for (const Rank rank : order) {
            deliver_some();
            // A late worker usually still computes.
            const bool is_needed = must_call(rank, job_.node_of(rank));
            if (!is_needed && job_.all_ended()) break;
            if (calls(rank, number)) waiting.insert(rank);
        }
        run();
        // A worker that has not arrived must do so now if the round waits for it.
        for (const Rank rank : order) {
            if (job_.all_ended()) break;
            if (waiting.contains(rank)) continue;
            if (!calls_at_last(rank, number)) continue;
            waiting.insert(rank);
            run();
        }
        job_.expect_well();
        commit(number, waiting);
    }

    // Expects that everything that was ever handed in was applied or is in the store, and that all
    // replicas are equal.
    void expect_nothing_lost(uint64_t rounds) {
        for (const Rank rank : ranks_) catch_up(rank, rounds);
        for (const Rank rank : ranks_) EXPECT_EQ(models_[rank], applied_) << "worker " << rank;
        EXPECT_EQ(applied_ + job_.stored_value(rounds), handed_in_);
    }

  private:
    void deliver_some() {
        for (size_t steps = random_.below(6); steps > 0; --steps) {
            if (random_.below(2) == 0) tell_();
            job_.network().progress();
        }
    }
    void run() {
        do job_.run();
        while (tell_());
    }
    void tell_all() {
        while (tell_()) {
        }
    }

    double next_gradient() {
        const double gradient = static_cast<double>(random_.below(7)) - 3;
        handed_in_ += gradient;
        return gradient;
    }

    // The worker computes, and calls. False: it does not wait for the round.
    bool calls(Rank rank, uint64_t number) {
        double gradient = next_gradient();
        if (catch_up(rank, number)) {
            hand_in_late(rank, gradient);
            // The worker is up to date now. It calls again for this round, or has missed the round
            // meanwhile.
            if (random_.below(2) == 0) return false;
            deliver_some();
            if (job_.ended(job_.node_of(rank))) return false;
            gradient = next_gradient();
        }
        job_.arrive(rank, gradient);
        return true;
    }

    // As calls(), but a worker that was behind calls again with nothing.
    bool calls_at_last(Rank rank, uint64_t number) {
        double gradient = next_gradient();
        if (catch_up(rank, number)) {
            hand_in_late(rank, gradient);
            run();
            if (job_.ended(job_.node_of(rank))) return false;
            gradient = 0;
        }
        job_.arrive(rank, gradient);
        return true;
    }

    bool must_call(Rank rank, size_t node) {
        const std::vector<Rank> awaited = job_.round(node).awaited();
        return std::find(awaited.begin(), awaited.end(), rank) != awaited.end();
    }

    bool catch_up(Rank rank, uint64_t number) {
        Bytes buffer(job_.options().layout.bytes());
        std::vector<std::byte*> segments;
        for (size_t s = 0; s < job_.options().layout.segments().size(); ++s)
            segments.push_back(buffer.data() + job_.options().layout.offset(s));
        const auto missed = job_.missed(job_.node_of(rank)).take(rank, segments);
        if (!missed) return false;
        tell_all();
        EXPECT_EQ(missed->first + missed->count, number);
        models_[rank] +=
            collectives::read_value(job_.options().layout.segments()[0].dtype, buffer.data(), 0);
        late_at_ = number;
        return true;
    }

    void hand_in_late(Rank rank, double gradient) {
        const size_t node = job_.node_of(rank);
        ASSERT_EQ(*job_.store(node).hand_in(rank, job_.gradient(gradient), nullptr),
                  HandIn::copied);
        job_.store(node).advance(rank, late_at_);
        job_.round(node).look_again();
    }

    void commit(uint64_t number, const std::set<Rank>& waiting) {
        const RoundOutcome& outcome = *job_.outcome(0);
        const double sum = job_.value(0);
        applied_ += sum;
        const size_t least = arrivals_needed(job_.options().quorum, ranks_.size());
        EXPECT_GE(outcome.contributors.size(), least) << kind_name(job_.options().quorum);
        for (const Contributor& contributor : outcome.contributors)
            EXPECT_LE(contributor.staleness, job_.options().staleness_max);
        for (size_t node = 0; node < job_.size(); ++node) {
            std::vector<Rank> late;
            for (const Rank rank : job_.roster().nodes[node]) {
                if (!waiting.contains(rank)) {
                    late.push_back(rank);
                    continue;
                }
                models_[rank] += sum;
                ASSERT_TRUE(job_.store(node).secure(rank).ok());
                job_.store(node).advance(rank, number + 1);
            }
            ASSERT_TRUE(
                job_.missed(node).add(number, {job_.result(node).data(), nullptr}, late).ok());
        }
        tell_all();
    }

    TestJob& job_;
    base::Random random_;
    std::function<bool()> tell_;
    std::vector<Rank> ranks_;
    std::map<Rank, double> models_;
    double applied_ = 0;
    double handed_in_ = 0;
    uint64_t late_at_ = 0;
};

}  // namespace pace::partial
