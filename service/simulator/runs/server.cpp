#include "service/simulator/runs/server.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "service/simulator/runs/meter.h"
#include "service/simulator/timing/common_model.h"
#include "service/simulator/timing/server_ways.h"
#include "service/simulator/timing/shares.h"
#include "service/simulator/timing/step_times.h"
#include "service/simulator/timing/timetable.h"
#include "service/simulator/timing/virtual_time.h"

namespace pace::simulator {

namespace {

using controller::Policy;
using controller::Rank;
using Direction = ServerWays::Direction;

// The number of steps that a worker may be ahead of the slowest worker.
std::optional<uint64_t> bound_of(const Candidate& candidate) {
    if (candidate.policy == Policy::asp) return std::nullopt;
    return candidate.policy == Policy::ssp ? candidate.staleness : 0;
}

class ServedJob {
  public:
    ServedJob(const Scenario& scenario, const Candidate& candidate);

    Outcome run();

  private:
    // The events of an update, in order. push: the step is computed. stored: the controller hears
    // that the update is there. counted: the worker hears that the update counts. ask: the
    // controller hears of the pull. pull: the controller's word has come. done: the update has
    // ended.
    enum class What : uint8_t { push, stored, counted, ask, pull, done };
    enum class Moving : uint8_t { push_copied, pushed, pulled, pull_copied };
    struct Trainer {
        Duration computing{};
        TimePoint began;        // of the present transfer, or the last one
        Duration exchanging{};  // in this update so far
        TimePoint computed;
        uint64_t clock = 0;  // its updates that count
        uint64_t known_slowest = 0;
        uint64_t staleness = 0;
        double distance = 0;
        Moving next = Moving::push_copied;  // what ends with the present stage
    };

    void carry_out(What what, Rank rank);
    void compute(Rank rank);
    void move(Rank rank, Moving ends, const Stage& stage);
    void go_on(Rank rank);
    void store(Rank rank);
    void ask(Rank rank);
    void serve(Rank rank);
    void finish(Rank rank);
    uint64_t slowest() const { return clocks_.begin()->first; }
    bool is_allowed(Rank rank) const {
        return !bound_ || trainers_[rank].clock - slowest() <= *bound_;
    }

    const Scenario& scenario_;
    std::optional<uint64_t> bound_;
    bool pulls_always_;
    ServerWays ways_;
    Shares shares_;
    StepTimes steps_;
    CommonModel model_;
    Duration half_way_;
    Timetable<What> timetable_;
    TimePoint now_{std::chrono::seconds(1)};
    Meter meter_;
    std::vector<Trainer> trainers_;
    std::map<uint64_t, uint32_t> clocks_;  // how many workers have each clock
    std::vector<Rank> held_back_;          // pulls
    uint64_t measured_ = 0;                // pushes
};

ServedJob::ServedJob(const Scenario& scenario, const Candidate& candidate)
    : scenario_(scenario),
      bound_(bound_of(candidate)),
      pulls_always_(bound_.value_or(0) == 0),
      ways_(scenario),
      shares_(ways_.channels()),
      steps_(scenario),
      model_(scenario.world(), scenario.seed),
      half_way_(to_duration(scenario.controller_s / 2)),
      meter_(scenario.world(), scenario.steps, now_),
      trainers_(scenario.world()),
      clocks_{{0, scenario.world()}} {}

Outcome ServedJob::run() {
    for (Rank rank = 0; rank < trainers_.size(); ++rank) compute(rank);
    while (!meter_.is_full()) {
        const auto moved = shares_.next_end();
        if (moved && (timetable_.empty() || *moved <= timetable_.next())) {
            now_ = std::max(now_, *moved);
            go_on(shares_.end_next());
        } else {
            const auto entry = timetable_.take();
            now_ = entry.when;
            carry_out(entry.what, entry.id);
        }
    }
    return meter_.outcome_of_one_model(measured_);
}

void ServedJob::carry_out(What what, Rank rank) {
    Trainer& trainer = trainers_[rank];
    switch (what) {
        case What::push:
            trainer.began = now_;
            return move(rank, Moving::push_copied, ways_.copying(rank));
        case What::stored:
            return store(rank);
        case What::counted:
            if (pulls_always_ || trainer.known_slowest + *bound_ < trainer.clock)
                return timetable_.at(now_ + half_way_, What::ask, rank);
            return finish(rank);
        case What::ask:
            return ask(rank);
        case What::pull:
            trainer.began = now_;
            return move(rank, Moving::pulled, ways_.moving(rank, Direction::pull));
        case What::done:
            trainer.exchanging += now_ - trainer.began;
            return finish(rank);
    }
}

void ServedJob::compute(Rank rank) {
    Trainer& trainer = trainers_[rank];
    trainer.distance = model_.distance(rank);
    trainer.computing = to_duration(steps_.next_s(rank));
    trainer.computed = now_ + trainer.computing;
    trainer.exchanging = {};
    timetable_.at(trainer.computed, What::push, rank);
}

// A worker has at most one transfer, whose id is the worker's rank.
void ServedJob::move(Rank rank, Moving ends, const Stage& stage) {
    trainers_[rank].next = ends;
    if (stage.uses.empty()) return go_on(rank);
    shares_.begin(rank, stage, now_);
}

void ServedJob::go_on(Rank rank) {
    Trainer& trainer = trainers_[rank];
    const Duration latency = to_duration(ways_.latency_s(rank));
    switch (trainer.next) {
        case Moving::push_copied:
            return move(rank, Moving::pushed, ways_.moving(rank, Direction::push));
        case Moving::pushed:
            trainer.exchanging += now_ + latency - trainer.began;
            return timetable_.at(now_ + latency + half_way_, What::stored, rank);
        case Moving::pulled:
            return move(rank, Moving::pull_copied, ways_.copying(rank));
        case Moving::pull_copied:
            return timetable_.at(now_ + latency, What::done, rank);
    }
}

// The update counts from now on. Workers that waited for the slowest worker may go on.
void ServedJob::store(Rank rank) {
    Trainer& trainer = trainers_[rank];
    const uint64_t before = slowest();
    if (--clocks_[trainer.clock] == 0) clocks_.erase(trainer.clock);
    ++clocks_[++trainer.clock];
    trainer.staleness = clocks_.rbegin()->first - trainer.clock;
    model_.add();
    if (meter_.is_measuring()) ++measured_;
    timetable_.at(now_ + half_way_, What::counted, rank);
    if (slowest() == before) return;
    std::vector<Rank> held;
    for (const Rank waiting : held_back_) {
        if (is_allowed(waiting))
            serve(waiting);
        else
            held.push_back(waiting);
    }
    held_back_ = std::move(held);
}

void ServedJob::ask(Rank rank) {
    if (is_allowed(rank))
        serve(rank);
    else
        held_back_.push_back(rank);
}

void ServedJob::serve(Rank rank) {
    trainers_[rank].known_slowest = slowest();
    model_.give(rank);
    timetable_.at(now_ + half_way_, What::pull, rank);
}

void ServedJob::finish(Rank rank) {
    const Trainer& trainer = trainers_[rank];
    const Duration waiting = now_ - trainer.computed - trainer.exchanging;
    meter_.add({rank, now_, trainer.computing, waiting, trainer.exchanging, false,
                trainer.staleness, trainer.distance});
    compute(rank);
}

}  // namespace

Outcome run_server(const Scenario& scenario, const Candidate& candidate) {
    return ServedJob(scenario, candidate).run();
}

}  // namespace pace::simulator
