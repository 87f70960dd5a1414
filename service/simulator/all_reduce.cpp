#include "service/simulator/all_reduce.h"

#include <algorithm>
#include <numeric>

#include "service/simulator/exchange_cost.h"
#include "service/simulator/meter.h"
#include "service/simulator/step_times.h"
#include "service/simulator/virtual_time.h"

namespace pace::simulator {

namespace {

Duration exchange_of_all(const Scenario& scenario, const std::vector<controller::Rank>& ranks) {
    const ExchangeCost cost = cost_of(scenario, ranks);
    double moving_s = 0;
    for (const LinkUse& use : cost.links) {
        const double share = scenario.links[use.link].bytes_per_s / use.nodes;
        moving_s = std::max(moving_s, cost.bytes_per_node / share);
    }
    return to_duration(cost.fixed_s) + to_duration(moving_s);
}

}  // namespace

Outcome run_all_reduce(const Scenario& scenario) {
    std::vector<controller::Rank> ranks(scenario.world());
    std::iota(ranks.begin(), ranks.end(), controller::Rank{0});
    const Duration exchange = exchange_of_all(scenario, ranks);
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
