#include "service/simulator/runs/all_reduce.h"

#include <algorithm>
#include <numeric>

#include "service/simulator/runs/meter.h"
#include "service/simulator/timing/exchange_cost.h"
#include "service/simulator/timing/step_times.h"
#include "service/simulator/timing/virtual_time.h"

namespace pace::simulator {

Outcome run_all_reduce(const Scenario& scenario, const Candidate& candidate) {
    std::vector<controller::Rank> ranks(scenario.world());
    std::iota(ranks.begin(), ranks.end(), controller::Rank{0});
    const ExchangeCosts costs(scenario);
    const base::Duration exchange = costs.alone(costs.cost_of(ranks, candidate));
    StepTimes steps(scenario);
    TimePoint now{};
    Meter meter(scenario.world(), scenario.steps, now);
    std::vector<base::Duration> computing(ranks.size());
    while (!meter.is_full()) {
        for (const controller::Rank rank : ranks) computing[rank] = to_duration(steps.next_s(rank));
        const base::Duration longest = *std::max_element(computing.begin(), computing.end());
        now += longest + exchange;
        meter.add_group(ranks);
        for (const controller::Rank rank : ranks) {
            const base::Duration waiting = longest - computing[rank];
            meter.add({rank, now, computing[rank], waiting, exchange, false, 0, 0});
        }
    }
    return meter.outcome();
}

}  // namespace pace::simulator
