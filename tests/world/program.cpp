#include "tests/world/program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace pace::world {

using daemon::Ending;
using daemon::Request;
using protocol::JobOptions;
using protocol::Verb;

namespace {

constexpr size_t kElements = 24;

uint64_t bits_of(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

uint64_t hash_of(std::span<const float> values) {
    uint64_t hash = kHashBegin;
    for (const float value : values) hash = hashed(hash, bits_of(value));
    return hash;
}

bool is_even(std::span<const float> values) {
    return std::all_of(values.begin(), values.end(),
                       [&](float value) { return bits_of(value) == bits_of(values.front()); });
}

// The common part of programs with rounds: the result of a round is added to the model.
class RoundProgram : public Program {
  public:
    std::span<float> model() override { return model_; }
    Request next(uint64_t step) const override {
        Request request;
        request.verb = Verb::reduce;
        request.op = protocol::ReduceOp::sum;
        request.iteration = step;
        return request;
    }

  protected:
    // `agrees`: the result is that of one round, which others have too.
    void apply(const Self& self, const Ending& ending, std::span<const float> result,
               Ledger& ledger, bool agrees = true) {
        for (size_t i = 0; i < model_.size(); ++i) model_[i] += result[i];
        if (agrees)
            ledger.agree(self.job.name + " round", self.run, ending.group, hash_of(result),
                         self.name);
        if (!ledger.has_own_parameters(self.name))
            ledger.agree(self.job.name + " model after round", self.run, ending.group,
                         hash_of(model_), self.name);
    }

    std::vector<float> model_;
};

// Rounds that all workers of the view take part in. The gradient of worker r at step k is
// (r + 1) * (k % 100 + 1), so that the sum over any members is known.
class Reducer final : public RoundProgram {
  public:
    void begin(const Self& self) override {
        model_.assign(kElements, static_cast<float>(self.rank));
    }
    std::vector<float> contents(const Self& self, uint64_t step) const override {
        return std::vector<float>(kElements, gradient(self.rank, step));
    }
    uint64_t ended(const Self& self, uint64_t step, const Ending& ending,
                   std::span<const float> result, Ledger& ledger) override {
        float expected = 0;
        if (ending.members)
            for (const auto& member : *ending.members) expected += gradient(member.rank, step);
        if (!is_even(result) || (ending.members && result[0] != expected))
            ledger.wrong(fmt::format("{}: the sum of step {} is {}, not {}", self.name, step,
                                     result[0], expected));
        apply(self, ending, result, ledger);
        return step + 1;
    }
    void check_whole(const Self& self, uint64_t step, std::span<const float> result,
                     Ledger& ledger) const override {
        float most = 0;
        for (uint32_t rank = 0; rank < self.job.world; ++rank) most += gradient(rank, step);
        if (!is_even(result) || result[0] < gradient(self.rank, step) || result[0] > most)
            ledger.wrong(fmt::format("{}: step {} is said to be whole, but is {} to {}", self.name,
                                     step, result.front(), result.back()));
    }

  private:
    static float gradient(uint32_t rank, uint64_t step) {
        return static_cast<float>((rank + 1) * (step % 100 + 1));
    }
};

// Rounds that go on without those who are late. Element j is worker (j % world)'s: it counts that
// worker's gradients.
class QuorumReducer final : public RoundProgram {
  public:
    void begin(const Self& self) override { model_.assign(size_of(self), 0); }
    std::vector<float> contents(const Self& self, uint64_t /*step*/) const override {
        std::vector<float> gradient(size_of(self), 0);
        for (size_t j = self.rank; j < gradient.size(); j += self.job.world) gradient[j] = 1;
        return gradient;
    }
    uint64_t ended(const Self& self, uint64_t step, const Ending& ending,
                   std::span<const float> result, Ledger& ledger) override {
        for (uint32_t rank = 0; rank < self.job.world; ++rank)
            check(self, step, rank, ending, result, ledger);
        if (ending.rounds == 0) ledger.wrong(self.name + ": a reduce ended with no round");
        apply(self, ending, result, ledger, ending.rounds == 1);
        return step + 1;
    }
    void check_whole(const Self& self, uint64_t step, std::span<const float> result,
                     Ledger& ledger) const override {
        Ending unknown;
        for (uint32_t rank = 0; rank < self.job.world; ++rank)
            check(self, step, rank, unknown, result, ledger);
    }

  private:
    static size_t size_of(const Self& self) { return size_t{self.job.world} * 3; }
    static void check(const Self& self, uint64_t step, uint32_t rank, const Ending& ending,
                      std::span<const float> result, Ledger& ledger) {
        const float value = result[rank];
        for (size_t j = rank; j < result.size(); j += self.job.world)
            if (result[j] != value)
                ledger.wrong(fmt::format("{}: a torn sum at step {}", self.name, step));
        if (value != std::floor(value) || value < 0)
            ledger.wrong(fmt::format("{}: step {} has {} gradients of worker {}", self.name, step,
                                     value, rank));
        if (ending.rounds != 1 || !ending.members) return;
        const auto member = std::find_if(ending.members->begin(), ending.members->end(),
                                         [rank](const auto& other) { return other.rank == rank; });
        const bool contributes = member != ending.members->end() && member->weight != 0;
        if (!contributes && value != 0)
            ledger.wrong(fmt::format("{}: worker {} did not contribute to step {}, but {} came",
                                     self.name, rank, step, value));
        if (contributes && (value < 1 || value > static_cast<float>(member->staleness + 1)))
            ledger.wrong(fmt::format("{}: worker {} gave {} gradients at step {}, {} late",
                                     self.name, rank, value, step, member->staleness));
        if (contributes && member->staleness > self.job.staleness_max)
            ledger.wrong(
                fmt::format("{}: worker {} is {} rounds late", self.name, rank, member->staleness));
    }
};

// Rounds in which only the largest elements travel. Gradients are whole numbers, so that sums are.
class TopKReducer final : public RoundProgram {
  public:
    void begin(const Self& /*self*/) override { model_.assign(kElements, 0); }
    std::vector<float> contents(const Self& self, uint64_t step) const override {
        std::vector<float> gradient(kElements);
        for (size_t j = 0; j < kElements; ++j)
            gradient[j] = static_cast<float>((j * 7 + step * 3 + self.rank * 5) % 11) - 5;
        return gradient;
    }
    uint64_t ended(const Self& self, uint64_t step, const Ending& ending,
                   std::span<const float> result, Ledger& ledger) override {
        check_whole(self, step, result, ledger);
        apply(self, ending, result, ledger);
        return step + 1;
    }
    void check_whole(const Self& self, uint64_t step, std::span<const float> result,
                     Ledger& ledger) const override {
        for (const float value : result)
            if (value != std::floor(value))
                ledger.wrong(fmt::format("{}: step {} has {}, which is no sum of gradients",
                                         self.name, step, value));
    }
};

// Groups that average their models. A model is one number in every element. Where all workers are
// in every group, and make the same steps, they sync after some of them.
class Averager final : public Program {
  public:
    bool takes_model_anew() const override { return false; }
    void begin(const Self& self) override {
        model_.assign(kElements, static_cast<float>(self.rank));
    }
    std::span<float> model() override { return model_; }
    Request next(uint64_t step) const override {
        Request request;
        request.verb = syncs_ ? Verb::sync : Verb::average;
        request.iteration = step;
        return request;
    }
    void took_model(const Self& /*self*/, const Ending& /*ending*/, Ledger& /*ledger*/) override {
        syncs_ = false;
    }
    std::vector<float> contents(const Self& /*self*/, uint64_t /*step*/) const override {
        return {};
    }
    uint64_t ended(const Self& self, uint64_t step, const Ending& ending,
                   std::span<const float> result, Ledger& ledger) override {
        check_whole(self, step, result, ledger);
        if (std::exchange(syncs_, false)) {
            ledger.agree(self.job.name + " sync", self.run, ending.group, hash_of(result),
                         self.name);
            return step;
        }
        if (!(result[0] >= 0 && result[0] <= static_cast<float>(self.job.world)))
            ledger.wrong(fmt::format("{}: step {} averages to {}", self.name, step, result[0]));
        double weights = ending.initial_weight;
        bool is_there = false;
        if (ending.members)
            for (const auto& member : *ending.members) {
                weights += member.weight;
                is_there = is_there || member.rank == self.rank;
            }
        if (ending.members && std::fabs(weights - 1) > 1e-9)
            ledger.wrong(fmt::format("{}: the weights of group {} sum to {}", self.name,
                                     ending.group, weights));
        if (ending.members && !is_there)
            ledger.wrong(fmt::format("{}: is not in the group {} that it averaged with", self.name,
                                     ending.group));
        if (ending.group != 0 && ending.members && ending.members->size() > 1)
            ledger.agree(self.job.name + " average of group", self.run, ending.group,
                         hash_of(result), self.name);
        if (ending.iteration < step)
            ledger.wrong(
                fmt::format("{}: step {} went back to {}", self.name, step, ending.iteration));
        const uint64_t next = ending.iteration + 1;
        const bool all_together = self.job.policy == protocol::Policy::full;
        syncs_ = all_together && next % kStepsToSync == 0;
        return next;
    }
    void check_whole(const Self& self, uint64_t step, std::span<const float> result,
                     Ledger& ledger) const override {
        if (!is_even(result))
            ledger.wrong(fmt::format("{}: a torn average at step {}", self.name, step));
    }

  private:
    static constexpr uint64_t kStepsToSync = 8;

    std::vector<float> model_;
    bool syncs_ = false;
};

// A parameter server: each update adds 1 to every element. A model's elements differ by what they
// have differed by from the begin, so that no byte of a checkpoint is like another.
class Pusher final : public Program {
  public:
    void begin(const Self& self) override {
        model_.resize(self.job.elements);
        for (size_t j = 0; j < model_.size(); ++j)
            model_[j] = static_cast<float>(self.rank) + difference(j);
    }
    std::span<float> model() override { return model_; }
    void took_model(const Self& self, const Ending& ending, Ledger& ledger) override {
        pushes_ = true;
        if (!is_one_model(model_))
            ledger.wrong(
                fmt::format("{}: a torn model at iteration {}", self.name, ending.iteration));
    }
    uint64_t step_after(uint64_t iteration) const override { return iteration; }
    Request next(uint64_t step) const override {
        Request request;
        request.verb = pushes_ ? Verb::push : Verb::pull;
        request.iteration = pushes_ ? step : step + 1;
        return request;
    }
    std::vector<float> contents(const Self& self, uint64_t /*step*/) const override {
        if (!pushes_) return {};
        return std::vector<float>(self.job.elements, 1);
    }
    uint64_t ended(const Self& self, uint64_t step, const Ending& ending,
                   std::span<const float> result, Ledger& ledger) override {
        if (pushes_) {
            pushes_ = false;
            return step;
        }
        check_whole(self, step, result, ledger);
        pushes_ = true;
        const uint64_t bound = self.job.policy == protocol::Policy::bsp ? 0 : self.job.staleness;
        if (self.job.policy != protocol::Policy::asp && step + 1 > ending.slowest_clock + bound)
            ledger.wrong(fmt::format("{}: pulled at {}, but the slowest worker is at {}", self.name,
                                     step + 1, ending.slowest_clock));
        return step + 1;
    }
    void check_whole(const Self& self, uint64_t step, std::span<const float> result,
                     Ledger& ledger) const override {
        if (!pushes_ && !is_one_model(result))
            ledger.wrong(fmt::format("{}: a torn model at step {}", self.name, step));
    }

  private:
    // Whole numbers, so that sums of them and of updates are exact.
    static float difference(size_t j) { return static_cast<float>(j * 40503 % 65536); }
    static bool is_one_model(std::span<const float> values) {
        for (size_t j = 0; j < values.size(); ++j)
            if (values[j] != values[0] + difference(j)) return false;
        return true;
    }

    std::vector<float> model_;
    bool pushes_ = true;
};

}  // namespace

std::unique_ptr<Program> program_of(const JobOptions& job) {
    switch (protocol::family_of(job.policy)) {
        case protocol::Family::server:
            return std::make_unique<Pusher>();
        case protocol::Family::averaging:
            return std::make_unique<Averager>();
        case protocol::Family::collective:
            break;
    }
    if (protocol::is_partial(job)) return std::make_unique<QuorumReducer>();
    if (protocol::is_top_k(job.compression)) return std::make_unique<TopKReducer>();
    return std::make_unique<Reducer>();
}

}  // namespace pace::world
