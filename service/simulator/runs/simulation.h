// Simulation: a job under one policy with groups, in virtual time, around the controller's own
// core.
//
// The core gets the messages that a cluster would send, and its orders are carried out. A worker
// computes, and then its signal travels for half of `controller_s`. When the core orders the
// worker's group, the order travels back for the other half. The exchange takes what exchange_cost
// says, as far as its shares of memories and links (shares.h) allow. Then the worker computes
// again. The controller hears of the end half of `controller_s` later. No worker dies and no
// message is lost.
//
// Static groups (static_schedule.h) run without the core. The core knows the workers but hears no
// signal.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "base/result.h"
#include "service/controller/core/core.h"
#include "service/simulator/model/scenario.h"
#include "service/simulator/runs/disagreement.h"
#include "service/simulator/runs/meter.h"
#include "service/simulator/runs/outcome.h"
#include "service/simulator/timing/exchange_cost.h"
#include "service/simulator/timing/shares.h"
#include "service/simulator/timing/static_schedule.h"
#include "service/simulator/timing/step_times.h"

namespace pace::simulator {

class Simulation {
  public:
    // `scenario` must outlive this object. The candidate's policy must have groups.
    Simulation(const Scenario& scenario, const Candidate& candidate);

    // Runs until enough is measured. Called once. Fails if the core refuses the options.
    base::Result<Outcome> run();

  private:
    // signal: a worker's signal reaches whoever forms groups. begin and end: a group's exchange
    // begins or ends. done: the core learns that the exchange has ended.
    enum class What : uint8_t { signal, begin, end, done };
    struct Event {
        TimePoint when;
        uint64_t order = 0;  // in the order of creation, so that ties have an order
        What what = What::signal;
        uint32_t id = 0;  // the rank, or the exchange
        bool operator>(const Event& other) const {
            return when != other.when ? when > other.when : order > other.order;
        }
    };
    struct Trainer {
        uint64_t iteration = 0;
        Duration computing{};
        TimePoint signalled;
        TimePoint ended;      // the end of its last exchange
        double distance = 0;  // when its step began
        bool had_conflict = false;
    };
    struct Exchange {
        controller::GroupOrder order;
        ExchangeCost cost;
        TimePoint began;
        bool is_moving = false;  // summing is done
        Duration took{};         // once it has ended
    };

    base::Result<> join_all();
    void handle(const controller::Event& event);
    void answer_views(const controller::Actions& actions);
    bool advance();
    void at(TimePoint when, What what, uint32_t id);
    void carry_out(const Event& event);
    void call(controller::Rank rank);
    void compute(controller::Rank rank);
    void take_order(const controller::GroupOrder& order);
    void begin(uint32_t id);
    void go_on(uint32_t id);
    void end(uint32_t id);
    void report_done(uint32_t id);

    const Scenario& scenario_;
    Candidate candidate_;
    controller::JobOptions options_;
    controller::Core core_;
    std::optional<StaticSchedule> static_;  // for policy prague-static
    StepTimes steps_;
    ExchangeCosts costs_;
    Shares shares_;
    Disagreement disagreement_;
    Duration half_way_;
    TimePoint now_{std::chrono::seconds(1)};
    Meter meter_;
    std::vector<controller::NodeId> node_ids_;  // by the scenario's nodes
    controller::JobId job_ = 0;
    uint64_t next_order_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Trainer> trainers_;
    std::vector<Exchange> exchanges_;
    std::vector<uint32_t> free_exchanges_;
};

}  // namespace pace::simulator
