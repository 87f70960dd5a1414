#include "service/simulator/runs/quorum.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "base/each_once.h"
#include "base/random.h"
#include "service/simulator/runs/meter.h"
#include "service/simulator/timing/common_model.h"
#include "service/simulator/timing/exchange_cost.h"
#include "service/simulator/timing/step_times.h"
#include "service/simulator/timing/timetable.h"
#include "service/simulator/timing/virtual_time.h"

namespace pace::simulator {

namespace {

using controller::Quorum;
using controller::Rank;

// The number of calls that begin a round. For majority, one call of the drawn worker.
uint32_t calls_needed(const Candidate& candidate, uint32_t world) {
    if (candidate.quorum == Quorum::majority_strict) return std::max((world + 1) / 2, 1U);
    if (candidate.quorum == Quorum::count) return std::clamp(candidate.quorum_count, 1U, world);
    return 1;
}

class QuorumRounds {
  public:
    QuorumRounds(const Scenario& scenario, const Candidate& candidate);

    Outcome run();

  private:
    enum class What : uint8_t { call, end };
    struct Trainer {
        uint64_t known = 0;  // rounds whose sums the worker has
        Duration computing{};
        TimePoint called;
        bool waits = false;
        // For each gradient handed in: the rounds known when it was computed.
        std::vector<uint64_t> in_store{};
        uint64_t staleness = 0;  // of its gradients counted since its last update
        double distance = 0;
    };

    bool may_begin() const;
    void compute(Rank rank);
    void call(Rank rank);
    void begin();
    void end();
    void finish(Rank rank, TimePoint began);
    void draw_starter() { starter_ = static_cast<Rank>(random_.below(trainers_.size())); }

    const Scenario& scenario_;
    Candidate candidate_;
    uint32_t needed_;
    Duration exchange_{};
    StepTimes steps_;
    CommonModel model_;
    base::Random random_;
    Timetable<What> timetable_;
    TimePoint now_{std::chrono::seconds(1)};
    Meter meter_;
    std::vector<Trainer> trainers_;
    uint64_t rounds_ = 0;    // that have ended
    uint64_t measured_ = 0;  // rounds
    uint32_t waiting_ = 0;   // calls
    uint64_t given_ = 0;     // gradients in the sum under way
    Rank starter_ = 0;       // the drawn worker, for majority
    bool is_moving_ = false;
    TimePoint began_;
};

QuorumRounds::QuorumRounds(const Scenario& scenario, const Candidate& candidate)
    : scenario_(scenario),
      candidate_(candidate),
      needed_(calls_needed(candidate, scenario.world())),
      steps_(scenario),
      model_(scenario.world(), scenario.seed),
      random_(scenario.seed ^ 0x71756F72756DU),
      meter_(scenario.world(), scenario.steps, now_),
      trainers_(scenario.world()) {
    std::vector<Rank> ranks(scenario.world());
    std::iota(ranks.begin(), ranks.end(), Rank{0});
    const ExchangeCosts costs(scenario);
    const ExchangeCost cost = costs.cost_of(ranks, candidate);
    std::vector<uint32_t> nodes;
    for (const Worker& worker : scenario.workers) nodes.push_back(worker.node);
    base::sort_each_once(nodes);
    const double messages = 2.0 * static_cast<double>(std::bit_width(nodes.size() - 1));
    exchange_ = costs.alone(cost) + to_duration(messages * cost.latency_s / 2);
    draw_starter();
}

Outcome QuorumRounds::run() {
    for (Rank rank = 0; rank < trainers_.size(); ++rank) compute(rank);
    while (!meter_.is_full()) {
        const auto entry = timetable_.take();
        now_ = entry.when;
        if (entry.what == What::call)
            call(entry.id);
        else
            end();
        if (may_begin()) begin();
    }
    return meter_.outcome_of_one_model(measured_);
}

// Whether the quorum is complete and no gradient would become too old.
bool QuorumRounds::may_begin() const {
    if (is_moving_ || waiting_ < needed_) return false;
    if (candidate_.quorum == Quorum::majority && !trainers_[starter_].waits) return false;
    const uint64_t limit = scenario_.options.staleness_max;
    return std::none_of(trainers_.begin(), trainers_.end(), [&](const Trainer& trainer) {
        return trainer.in_store.empty() && rounds_ + 1 - trainer.known > limit;
    });
}

void QuorumRounds::compute(Rank rank) {
    Trainer& trainer = trainers_[rank];
    trainer.distance = model_.distance(rank);
    trainer.computing = to_duration(steps_.next_s(rank));
    trainer.called = now_ + trainer.computing;
    timetable_.at(trainer.called, What::call, rank);
}

void QuorumRounds::call(Rank rank) {
    Trainer& trainer = trainers_[rank];
    trainer.in_store.push_back(trainer.known);
    if (trainer.known < rounds_) return finish(rank, now_);
    trainer.waits = true;
    ++waiting_;
}

void QuorumRounds::begin() {
    is_moving_ = true;
    began_ = now_;
    for (Trainer& trainer : trainers_) {
        for (const uint64_t known : trainer.in_store) {
            trainer.staleness += rounds_ - known;
            ++given_;
        }
        trainer.in_store.clear();
    }
    timetable_.at(now_ + exchange_, What::end, 0);
}

void QuorumRounds::end() {
    is_moving_ = false;
    ++rounds_;
    if (meter_.is_measuring()) ++measured_;
    waiting_ = 0;
    draw_starter();
    for (; given_ > 0; --given_) model_.add();
    for (Rank rank = 0; rank < trainers_.size(); ++rank)
        if (trainers_[rank].waits) model_.give(rank);
    for (Rank rank = 0; rank < trainers_.size(); ++rank)
        if (trainers_[rank].waits) finish(rank, std::max(began_, trainers_[rank].called));
}

// The worker's update ends now. The exchange that it waited for began at `began`.
void QuorumRounds::finish(Rank rank, TimePoint began) {
    Trainer& trainer = trainers_[rank];
    trainer.waits = false;
    trainer.known = rounds_;
    model_.give(rank);
    meter_.add({rank, now_, trainer.computing, began - trainer.called, now_ - began, false,
                trainer.staleness, trainer.distance});
    trainer.staleness = 0;
    compute(rank);
}

}  // namespace

Outcome run_quorum(const Scenario& scenario, const Candidate& candidate) {
    return QuorumRounds(scenario, candidate).run();
}

}  // namespace pace::simulator
