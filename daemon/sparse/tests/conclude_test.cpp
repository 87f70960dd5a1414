// A node dies in the last messages of an exchange. Some of the other nodes have the result, and
// some do not. Those without the result conclude from those with the result, and all go on as if no
// node had died. The tests do this at every step of every algorithm. They compare the outcome, bit
// for bit, with the same exchange undisturbed.
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;
using Seed = std::optional<uint64_t>;

Vector values_of(const SparseState& state) {
    const auto values = state.residual().values();
    return {values.begin(), values.end()};
}

// One exchange: the nodes' states, results and outcomes, whatever becomes of the exchange.
struct Round : OneExchange {
    Round(std::vector<SparseState> begun_with, std::vector<Vector> given, const Options& chosen,
          Seed seed)
        : OneExchange(chosen, std::move(begun_with), std::move(given), seed) {
        start(0.5);
    }

    void run_well() {
        cluster.run_well();
        for (SparseState& state : states) state.commit();
    }
    bool has_result(size_t w) const { return cluster.outcome(w).ok(); }
    Vector residual(size_t w) const { return values_of(states[w]); }
};

bool same_bits(const Vector& a, const Vector& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <typename Value>
std::vector<Value> without(std::vector<Value> values, size_t place) {
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(place));
    return values;
}

// Runs the second exchange of a job undisturbed, and disturbed in every way.
class Trials {
  public:
    Trials(size_t P, size_t n, const Options& options)
        // Small whole numbers, so that sums cancel. For 16 bits, numbers that are too long, so that
        // all values are rounded.
        : bound_(options.format.value == ValueFormat::f32 ? 4 : 20000),
          options_(options),
          gradients_(gradients_of(P, n, 2, bound_)) {
        Round first(std::vector<SparseState>(P, SparseState(n)), gradients_of(P, n, 1, bound_),
                    options, std::nullopt);
        first.run_well();
        before_ = first.states;
        undisturbed_ = std::make_unique<Round>(before_, gradients_, options, std::nullopt);
        undisturbed_->run_well();
        if (options.residuals == ResidualMode::global) {
            std::vector<double> all(n, 0.0);
            for (size_t w = 0; w < P; ++w) {
                add(all, undisturbed_->residual(w), -1);
                add(all, gradients_[w], 1);
                add(all, residual_before(w), 1);
            }
            // The result is halved.
            add(all, result(*undisturbed_, 0), -2);
            EXPECT_EQ(all, std::vector<double>(n, 0.0)) << "even undisturbed something is lost";
        }
    }

    // The node dies after `step` steps. Returns false if there was nothing left to disturb.
    bool kill(size_t victim, size_t step, Seed seed) {
        Round round(before_, gradients_, options_, seed);
        if (!round.run_steps(step)) return false;
        round.cluster.network().kill(round.cluster.transport(victim));
        round.cluster.run();
        settle(round, victim, fmt::format("victim {} step {}", victim, step));
        return true;
    }

    // The node is told to give up after `step` steps. The others are told when nothing moves any
    // more.
    bool abort(size_t first, size_t step, Seed seed) {
        Round round(before_, gradients_, options_, seed);
        if (!round.run_steps(step)) return false;
        round.cluster.communicator(first).abort({ErrorKind::aborted, "the view changes"});
        round.cluster.run();
        for (size_t w = 0; w < before_.size(); ++w)
            if (!round.cluster.ended(w))
                round.cluster.communicator(w).abort({ErrorKind::aborted, "the view changes"});
        // Operations with a node that has given up end with the connection.
        for (size_t w = 0; w < before_.size(); ++w)
            for (size_t other = 0; other < before_.size(); ++other)
                if (!round.cluster.ended(w) && other != w)
                    round.cluster.transport(w).disconnect(
                        round.cluster.communicator(w).group().nodes[other]);
        round.cluster.run();
        settle(round, kNobody, fmt::format("node {} gives up at step {}", first, step));
        return true;
    }

    size_t concluded() const { return concluded_; }
    size_t discarded() const { return discarded_; }

  private:
    static constexpr size_t kNobody = SIZE_MAX;

    static void add(std::vector<double>& sum, const Vector& values, double factor) {
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * static_cast<double>(values[i]);
    }
    static Vector result(const Round& round, size_t w) {
        return unpacked(round.layout, round.results[w]);
    }
    Vector residual_before(size_t w) const { return values_of(before_[w]); }

    void settle(Round& round, size_t dead, const std::string& what) {
        SCOPED_TRACE(what);
        size_t donor = kNobody;
        for (size_t w = 0; w < before_.size(); ++w) {
            if (w == dead) continue;
            ASSERT_EQ(round.cluster.ends(w), 1) << "node " << w;
            if (round.has_result(w)) donor = w;
        }
        if (donor == kNobody)
            discard(round, dead);
        else
            conclude(round, dead, donor);
    }

    void conclude(Round& round, size_t dead, size_t donor) {
        ASSERT_TRUE(round.results[donor] == undisturbed_->results[0]);
        ASSERT_TRUE(round.reports[donor].hidden == undisturbed_->reports[0].hidden);
        bool any = false;
        for (size_t w = 0; w < before_.size(); ++w) {
            if (w == dead) continue;
            if (round.has_result(w)) {
                ASSERT_TRUE(round.results[w] == round.results[donor]);
            } else {
                any = true;
                const auto concluded = round.states[w].conclude(round.layout, round.results[donor],
                                                                round.reports[donor].hidden);
                ASSERT_TRUE(concluded.ok()) << "node " << w << ": " << concluded.error().message;
            }
            round.states[w].commit();
            ASSERT_TRUE(same_bits(round.residual(w), undisturbed_->residual(w)))
                << "node " << w << (round.has_result(w) ? "" : ", which concluded");
        }
        expect_conserved(round, dead, donor);
        if (!any) return;
        if (concluded_++ == 0) expect_same_future(round, undisturbed_->states, dead, kNewView);
    }

    // result + Σ survivors' residuals = Σ G - what the dead node kept.
    void expect_conserved(const Round& round, size_t dead, size_t donor) {
        if (options_.residuals != ResidualMode::global) return;
        std::vector<double> all(gradients_[0].size(), 0.0);
        for (size_t w = 0; w < before_.size(); ++w) {
            add(all, gradients_[w], 1);
            add(all, residual_before(w), 1);
            add(all, w == dead ? undisturbed_->residual(w) : round.residual(w), -1);
        }
        add(all, result(round, donor), -2);
        ASSERT_EQ(all, std::vector<double>(all.size(), 0.0));
    }

    // No node has a result, so every state is as before. If a node had a result, a node that has
    // settled could have concluded from it.
    void discard(Round& round, size_t dead) {
        for (size_t w = 0; w < before_.size(); ++w) {
            SparseState other = round.states[w];
            if (w != dead && other.conclude(round.layout, undisturbed_->results[0],
                                            undisturbed_->reports[0].hidden)) {
                other.commit();
                ASSERT_TRUE(same_bits(values_of(other), undisturbed_->residual(w))) << "node " << w;
            }
            round.states[w].discard();
            round.states[w].commit();
            ASSERT_TRUE(same_bits(round.residual(w), residual_before(w))) << "node " << w;
        }
        if (discarded_++ == 0)
            expect_same_future(round, before_, dead, dead == kNobody ? 0 : kNewView);
    }

    // Checks that the survivors' next exchange is the same as one that begins from `expected`.
    void expect_same_future(const Round& round, std::vector<SparseState> expected, size_t dead,
                            uint64_t view) {
        std::vector<SparseState> found = round.states;
        std::vector<Vector> gradients =
            gradients_of(before_.size(), gradients_[0].size(), 3, bound_);
        if (dead != kNobody) {
            expected = without(std::move(expected), dead);
            found = without(std::move(found), dead);
            gradients = without(std::move(gradients), dead);
        }
        Options options = options_;
        options.view = view;
        if (expected.size() % options.teams != 0) options.teams = 1;
        Round right(std::move(expected), gradients, options, std::nullopt);
        Round here(std::move(found), gradients, options, std::nullopt);
        right.run_well();
        here.run_well();
        for (size_t w = 0; w < gradients.size(); ++w) {
            ASSERT_TRUE(here.results[w] == right.results[w]);
            ASSERT_TRUE(same_bits(here.residual(w), right.residual(w)));
        }
    }

    static constexpr uint64_t kNewView = 1;

    uint64_t bound_;
    Options options_;
    std::vector<Vector> gradients_;
    std::vector<SparseState> before_;
    std::unique_ptr<Round> undisturbed_;
    size_t concluded_ = 0;
    size_t discarded_ = 0;
};

std::vector<Options> all_options(size_t P) {
    std::vector<Options> all;
    const auto add = [&](Algorithm algorithm, size_t teams, TeamGather gather) {
        for (const ResidualMode mode :
             {ResidualMode::global, ResidualMode::partial, ResidualMode::local})
            for (const ValueFormat value : {ValueFormat::f32, ValueFormat::bf16}) {
                if (mode != ResidualMode::global && value != ValueFormat::f32) continue;
                Options options;
                options.algorithm = algorithm;
                options.teams = teams;
                options.gather = gather;
                options.density = 0.2;
                options.format.value = value;
                options.residuals = mode;
                all.push_back(options);
                if (algorithm == Algorithm::dense) return;
            }
    };
    for (size_t d = 1; d <= P; ++d) {
        if (P % d != 0) continue;
        add(Algorithm::spar_dl, d, TeamGather::bruck);
        if (d > 1 && std::has_single_bit(d)) add(Algorithm::spar_dl, d, TeamGather::recursive);
    }
    for (const Algorithm algorithm : {Algorithm::topk_a, Algorithm::topk_dsa, Algorithm::g_topk,
                                      Algorithm::ok_topk, Algorithm::dense})
        add(algorithm, 1, TeamGather::automatic);
    return all;
}

std::string words_of(const Options& options, size_t P) {
    return fmt::format("{} P {} d {} gather {} values {} residuals {}", name_of(options.algorithm),
                       P, options.teams, static_cast<int>(options.gather),
                       static_cast<int>(options.format.value), static_cast<int>(options.residuals));
}

class ConcludeAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Nodes, ConcludeAmong, testing::Range(size_t{2}, size_t{10}));

TEST_P(ConcludeAmong, WhoeverDiesWheneverTheOthersGoOnAsIfNobodyHad) {
    const size_t P = GetParam();
    for (const Options& options : all_options(P)) {
        SCOPED_TRACE(words_of(options, P));
        Trials trials(P, 120, options);
        for (size_t victim = 0; victim < P; ++victim) {
            for (size_t step = 0; trials.kill(victim, step, std::nullopt); ++step)
                ASSERT_FALSE(HasFatalFailure());
            for (size_t step = victim; trials.kill(victim, step, 100 * step + victim); step += 3)
                ASSERT_FALSE(HasFatalFailure());
        }
        EXPECT_GT(trials.discarded(), 0U);
        // With two nodes, no node is left to conclude from. With three nodes, gTopk's two survivors
        // are told at once.
        if (P > 3) {
            EXPECT_GT(trials.concluded(), 0U);
        }
    }
}

// Tests messages that stay at their sender until they are matched.
TEST(Conclude, LargeMessagesMakeNoDifference) {
    size_t concluded = 0;
    for (Options options : all_options(4)) {
        if (options.residuals != ResidualMode::global) continue;
        options.density = 0.7;
        SCOPED_TRACE(words_of(options, 4));
        Trials trials(4, 9000, options);
        for (size_t victim = 0; victim < 4; ++victim)
            for (size_t step = victim; trials.kill(victim, step, 100 * step + victim); step += 3)
                ASSERT_FALSE(HasFatalFailure());
        concluded += trials.concluded();
    }
    EXPECT_GT(concluded, 0U);
}

TEST_P(ConcludeAmong, WhoeverGivesUpWheneverAllGoOnAsIfNobodyHad) {
    const size_t P = GetParam();
    for (const Options& options : all_options(P)) {
        SCOPED_TRACE(words_of(options, P));
        Trials trials(P, 120, options);
        for (size_t node = 0; node < P; ++node)
            for (size_t step = 0; trials.abort(node, step, 7 * step + node); ++step)
                ASSERT_FALSE(HasFatalFailure());
        EXPECT_GT(trials.concluded(), 0U);
    }
}

}  // namespace
}  // namespace pace::sparse
