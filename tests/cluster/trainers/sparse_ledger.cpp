#include "tests/cluster/trainers/sparse_ledger.h"

#include <algorithm>
#include <csignal>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/cluster/trainers/sparse_gradient.h"

namespace pace::cluster {

namespace {

// A step as a trainer has printed it (sparse_trainer.h).
struct Step {
    uint64_t step = 0;
    uint64_t round = 0;
    uint64_t hash = 0;
    uint64_t members = 0;
};

std::optional<Step> step_of(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    Step step;
    uint64_t time = 0;
    words >> word >> step.step >> time >> step.round >> step.hash >> step.members;
    return word == "step" && words ? std::optional(step) : std::nullopt;
}

// Returns the last rounds of a trainer and its other lines, for failure messages.
std::string story_of(const Process& trainer) {
    const auto& lines = trainer.lines();
    std::string story;
    for (size_t i = 0; i < lines.size(); ++i)
        if (!lines[i].starts_with("step ") || i + 1 == lines.size() ||
            !lines[i + 1].starts_with("step ") || !lines[i - 1].starts_with("step "))
            story += lines[i].substr(0, 100) + "\n";
    return story;
}

std::vector<Step> steps_of(const Process& trainer) {
    std::vector<Step> steps;
    for (const std::string& line : trainer.lines())
        if (const auto step = step_of(line)) steps.push_back(*step);
    return steps;
}

}  // namespace

bool SparseLedger::is_lost(uint32_t rank) const {
    return std::any_of(losses_.begin(), losses_.end(), [rank](const Loss& loss) {
        return std::find(loss.ranks.begin(), loss.ranks.end(), rank) != loss.ranks.end();
    });
}

bool SparseLedger::is_looked_at(uint64_t element) const {
    for (uint32_t rank = 0; rank < world_; ++rank)
        if (is_lost(rank) && gives_to(rank, world_, element)) return false;
    return true;
}

void SparseLedger::bury(uint32_t rank, Process& trainer, bool killed) {
    while (trainer.read_line(soon())) {
    }
    ASSERT_TRUE(trainer.wait(soon()));
    if (!is_lost(rank)) compare_sums(trainer);
    const auto next = count(rank, trainer);
    if (killed && next) unsure_.push_back(*next);
}

void SparseLedger::lose(const std::vector<uint32_t>& ranks, Process& survivor, bool debts_die) {
    const auto has_them = [&ranks](const Step& step) {
        return (step.members >> ranks.front() & 1U) != 0;
    };
    while (has_them(steps_of(survivor).back())) ASSERT_TRUE(survivor.wait_for("step ", soon()));
    Loss loss{ranks, 0, debts_die};
    for (const Step& step : steps_of(survivor))
        if (has_them(step)) loss.last_round = step.round;
    losses_.push_back(std::move(loss));
}

// Subtracts the trainer's steps from the balance. Returns the step that the trainer would have made
// next.
std::optional<SparseLedger::Call> SparseLedger::count(uint32_t rank, const Process& trainer) {
    std::optional<Call> next;
    for (const std::string& line : trainer.lines()) {
        EXPECT_FALSE(line.starts_with("wrong")) << "worker " << rank << ": " << line;
        if (const auto step = step_of(line)) {
            add({rank, step->step}, -1);
            next = Call{rank, step->step + 1};
        }
        const size_t adopted = line.find(", next ");
        if (adopted != std::string::npos) next = Call{rank, std::stoull(line.substr(adopted + 7))};
    }
    return next;
}

// All trainers that print a round have got the same sum.
void SparseLedger::compare_sums(const Process& trainer) {
    for (const Step& step : steps_of(trainer)) {
        EXPECT_EQ(hashes_.try_emplace(step.round, step.hash).first->second, step.hash)
            << "round " << step.round;
        EXPECT_EQ(members_.try_emplace(step.round, step.members).first->second, step.members)
            << "round " << step.round;
    }
}

void SparseLedger::add(const Call& call, double factor) {
    for (uint64_t j = 0; j < elements_; ++j)
        balance_[j] += factor * static_cast<double>(gradient_of(call.rank, world_, call.step, j));
}

void SparseLedger::add_values(const std::string& line, double factor) {
    std::istringstream words(line);
    for (double& value : balance_) {
        double given = 0;
        words >> given;
        value += factor * given;
    }
    EXPECT_TRUE(words) << "a line too short";
}

// Adds the residuals that were lost. Returns false if the residuals are not known to belong to the
// last round that the others have committed with these ranks. This concerns lost residuals and
// residuals that have come back.
bool SparseLedger::settle(const Loss& loss, const std::vector<Process>& trainers) {
    std::vector<std::string> debts;
    for (const uint32_t rank : loss.ranks) {
        bool has_last = false;
        for (const Step& step : steps_of(trainers[rank])) {
            if (step.round == loss.last_round) has_last = true;
            const auto members = members_.find(step.round);
            // The trainer has committed a round that the others have redone without it.
            if (members == members_.end() || (members->second >> rank & 1U) == 0) return false;
        }
        if (!has_last) return false;
        if (!loss.debts_die) continue;
        const std::string prefix = "lost " + std::to_string(loss.last_round) + " ";
        const auto& lines = trainers[rank].lines();
        const auto line =
            std::find_if(lines.begin(), lines.end(),
                         [&prefix](const std::string& other) { return other.starts_with(prefix); });
        if (line == lines.end()) return false;
        debts.push_back(line->substr(prefix.size()));
    }
    for (const std::string& line : debts) add_values(line, 1);
    return true;
}

void SparseLedger::compare_models(std::vector<Process>& trainers,
                                  const std::vector<uint32_t>& ranks, const Cluster& cluster) {
    std::optional<std::string> first;
    for (const uint32_t rank : ranks) trainers[rank].signal(SIGTERM);
    for (const uint32_t rank : ranks) {
        const auto model = trainers[rank].wait_for("end ", soon());
        ASSERT_TRUE(model) << "worker " << rank << " last said: "
                           << (trainers[rank].lines().empty() ? "" : trainers[rank].lines().back())
                           << "\n"
                           << cluster.logs();
        if (!first) add_values(*model, 1);
        if (!first) first = model;
        EXPECT_TRUE(*model == *first)
            << "the models of workers " << rank << " and " << ranks[0] << "\n"
            << story_of(trainers[rank]) << "and\n"
            << story_of(trainers[ranks[0]]);
    }
}

void SparseLedger::expect_nothing_lost(std::vector<Process>& trainers,
                                       const std::vector<uint32_t>& ranks, Cluster& cluster) {
    compare_models(trainers, ranks, cluster);
    if (testing::Test::HasFatalFailure()) return;
    for (const uint32_t rank : ranks)
        if (!is_lost(rank)) compare_sums(trainers[rank]);
    for (const uint32_t rank : ranks) count(rank, trainers[rank]);
    bool is_known = true;
    for (const Loss& loss : losses_)
        if (!own_debts_ && !settle(loss, trainers)) is_known = false;
    if (is_known) {
        expect_whole(trainers, ranks, cluster);
    } else {
        std::printf("a node was lost in a round that the others have committed\n");
    }
    for (const uint32_t rank : ranks) trainers[rank].signal(SIGUSR1);
    for (const uint32_t rank : ranks) EXPECT_EQ(trainers[rank].wait(soon()), 0);
}

// The residual of a node that has been left travels independently of all other messages.
void SparseLedger::expect_whole(std::vector<Process>& trainers, const std::vector<uint32_t>& ranks,
                                const Cluster& cluster) {
    const std::vector<double> without_debts = balance_;
    for (const Deadline end = within(std::chrono::seconds(5));;) {
        for (const uint32_t rank : ranks) {
            const auto owed = trainers[rank].wait_for("owed ", soon());
            ASSERT_TRUE(owed) << "worker " << rank << " does not say what it owes\n"
                              << cluster.logs();
            add_values(*owed, 1);
        }
        if (is_explained()) return;
        ASSERT_LT(std::chrono::steady_clock::now(), end) << words() << cluster.logs();
        balance_ = without_debts;
        for (const uint32_t rank : ranks) trainers[rank].signal(SIGTERM);
    }
}

bool SparseLedger::is_zero() const {
    for (uint64_t j = 0; j < elements_; ++j)
        if (balance_[j] != 0 && is_looked_at(j)) return false;
    return true;
}

// Returns whether any subset of the uncertain calls explains the balance.
bool SparseLedger::is_explained() {
    const std::vector<double> balance = balance_;
    for (uint64_t subset = 0; subset < uint64_t{1} << unsure_.size(); ++subset) {
        balance_ = balance;
        for (size_t i = 0; i < unsure_.size(); ++i)
            if ((subset >> i & 1U) != 0) add(unsure_[i], -1);
        if (is_zero()) return true;
    }
    balance_ = balance;
    return false;
}

std::string SparseLedger::words() const {
    std::ostringstream words;
    uint64_t wrong = 0;
    for (uint64_t j = 0; j < elements_; ++j) {
        if (balance_[j] == 0 || !is_looked_at(j)) continue;
        if (++wrong <= 10)
            words << "element " << j << " (" << j % world_ << " gives): applied and owed is "
                  << balance_[j] << " more than was handed in\n";
    }
    words << wrong << " elements are wrong; " << unsure_.size() << " calls may have counted\n";
    return words.str();
}

}  // namespace pace::cluster
