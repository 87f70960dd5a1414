#include "simulation.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/random.h"
#include "daemon/server/shard.h"

namespace pace::bench {

namespace {

using controller::Rank;
using controller::ServerEntry;
using controller::ServerStep;

struct StepEnd {
    double time = 0;
    size_t worker = 0;
    bool operator>(const StepEnd& other) const { return time > other.time; }
};

struct Worker {
    Learner learner;
    std::vector<float> model;
    uint64_t clock = 0;
    uint64_t fresh = 0;  // the slowest clock at its last pull
};

class Simulation {
  public:
    Simulation(const DataSet& data, const SimulationOptions& options)
        : data_(data),
          options_(options),
          order_(options.server),
          shard_(data.features),
          model_(data.features),
          random_(options.seed) {
        for (size_t i = 0; i < options.workers; ++i) {
            workers_.push_back({Learner(data, options.learner, i, options.workers),
                                std::vector<float>(data.features, 0.0F)});
            order_.add_member(static_cast<Rank>(i));
        }
        apply();
    }

    Outcome run() {
        outcome_.model_bytes = shard_.memory().model;
        for (size_t i = 0; i < workers_.size(); ++i) begin_step(i, 0);
        look();
        while (!ends_.empty() && !is_over()) {
            const StepEnd end = ends_.top();
            ends_.pop();
            now_ = end.time;
            if (now_ > options_.until) break;
            end_step(end.worker);
        }
        outcome_.accuracy = accuracy(data_, model_);
        return std::move(outcome_);
    }

  private:
    controller::TimePoint time_point() const {
        return controller::TimePoint(std::chrono::nanoseconds(static_cast<int64_t>(now_ * 1e9)));
    }

    void begin_step(size_t worker, double delay) {
        const double factor = worker < options_.slow ? options_.slow_factor : 1;
        const double noise = 1 + options_.jitter * (2 * random_.uniform() - 1);
        ends_.push({now_ + delay + factor * noise, worker});
    }

    void end_step(size_t number) {
        Worker& worker = workers_[number];
        const double decay =
            options_.decays ? std::sqrt(0.2 * static_cast<double>(worker.clock) + 1) : 1;
        const auto rank = static_cast<Rank>(number);
        shard_.hold(
            rank, worker.clock,
            server::HybridVector::of(
                data_.features, worker.learner.step(worker.model, options_.learning_rate / decay)));
        const uint64_t clock = worker.clock++;
        order_.stored(rank, clock, time_point());
        apply();
        if (++updates_ % kUpdatesPerLook == 0) look();
        // SSP pulls when its copy is too old. The other protocols pull after every step.
        const auto& staleness = options_.server.staleness;
        const bool is_ssp = staleness && *staleness > 0;
        if (is_ssp && worker.fresh + *staleness >= clock) {
            begin_step(number, 0);
            return;
        }
        order_.asked(rank, clock + 1, clock + 1, time_point());
        apply();
    }

    // Applies the new entries of the order.
    void apply() {
        std::vector<ServerEntry> entries;
        order_.take(entries);
        for (const ServerEntry& entry : entries) {
            if (const auto acted = shard_.act(server::entry_of(entry)); !acted) std::abort();
            if (entry.step == ServerStep::pull) give(entry);
        }
        outcome_.versions_max = std::max(outcome_.versions_max, shard_.versions().size());
    }

    void give(const ServerEntry& entry) {
        Worker& worker = workers_[entry.worker.rank];
        shard_.settle();
        shard_.read(0, worker.model);
        worker.fresh = entry.slowest;
        begin_step(entry.worker.rank, options_.pull_time);
    }

    void look() {
        shard_.settle();
        shard_.read(0, model_);
        outcome_.versions_bytes_max =
            std::max(outcome_.versions_bytes_max, shard_.memory().versions);
        const Sample sample{now_, updates_, objective(data_, options_.learner, model_)};
        outcome_.samples.push_back(sample);
        steady_ = sample.objective <= options_.target ? steady_ + 1 : 0;
        if (steady_ == kSteady)
            outcome_.reached = outcome_.samples[outcome_.samples.size() - kSteady];
    }

    bool is_over() const {
        return outcome_.reached.time > 0 || !std::isfinite(outcome_.samples.back().objective);
    }

    static constexpr uint64_t kUpdatesPerLook = 15;

    const DataSet& data_;
    SimulationOptions options_;
    controller::Server order_;
    server::Shard shard_;
    std::vector<float> model_;
    base::Random random_;
    std::vector<Worker> workers_;
    std::priority_queue<StepEnd, std::vector<StepEnd>, std::greater<>> ends_;
    double now_ = 0;
    uint64_t updates_ = 0;
    size_t steady_ = 0;
    Outcome outcome_;
};

}  // namespace

Outcome simulate(const DataSet& data, const SimulationOptions& options) {
    return Simulation(data, options).run();
}

}  // namespace pace::bench
