#include "service/simulator/all_reduce.h"

#include <algorithm>
#include <numeric>

#include "service/simulator/exchange_cost.h"
#include "service/simulator/meter.h"
#include "service/simulator/step_times.h"
#include "service/simulator/virtual_time.h"

namespace pace::simulator {

namespace {

// With nobody else about.
Duration time_of(const Scenario& scenario, const Stage& stage) {
    double time_s = 0;
    for (const Use& use : stage.uses) {
        const double share = scenario.channels[use.channel].bytes_per_s / use.streams;
        time_s = std::max(time_s, stage.bytes / share);
    }
    return to_duration(time_s);
}

}  // namespace

Outcome run_all_reduce(const Scenario& scenario) {
    std::vector<controller::Rank> ranks(scenario.world());
    std::iota(ranks.begin(), ranks.end(), controller::Rank{0});
    const ExchangeCost cost = cost_of(scenario, ranks);
    const Duration exchange = time_of(scenario, cost.summing) + time_of(scenario, cost.moving) +
                              to_duration(cost.latency_s);
    StepTimes steps(scenario);
    TimePoint now{};
    Meter meter(scenario.world(), scenario.steps, now);
    std::vector<Duration> computing(ranks.size());
    while (!meter.is_full()) {
        for (const controller::Rank rank : ranks) computing[rank] = to_duration(steps.next_s(rank));
        const Duration longest = *std::max_element(computing.begin(), computing.end());
        now += longest + exchange;
        meter.add_group(ranks);
        for (const controller::Rank rank : ranks) {
            const Duration waiting = longest - computing[rank];
            meter.add({rank, now, computing[rank], waiting, exchange, false, 0, 0});
        }
    }
    return meter.outcome();
}

}  // namespace pace::simulator
