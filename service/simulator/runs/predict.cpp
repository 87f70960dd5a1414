#include "service/simulator/runs/predict.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "service/simulator/runs/all_reduce.h"
#include "service/simulator/runs/quorum.h"
#include "service/simulator/runs/server.h"
#include "service/simulator/runs/simulation.h"

namespace pace::simulator {

base::Result<Outcome> predict(const Scenario& scenario, const Candidate& candidate) {
    const controller::JobOptions options = options_of(scenario, candidate);
    if (family_of(candidate.policy) == controller::Family::server)
        return run_server(scenario, candidate);
    if (is_partial(options)) return run_quorum(scenario, candidate);
    if (candidate.policy == controller::Policy::all_reduce)
        return run_all_reduce(scenario, candidate);
    return Simulation(scenario, candidate).run();
}

base::Result<std::vector<Prediction>> predict_all(const Scenario& scenario) {
    const std::vector<Candidate> candidates = candidates_of(scenario);
    std::vector<std::optional<base::Result<Outcome>>> outcomes(candidates.size());
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t i = next++; i < candidates.size(); i = next++)
            outcomes[i] = predict(scenario, candidates[i]);
    };
    {
        const size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
        std::vector<std::jthread> helpers;
        for (size_t i = 1; i < std::min(processors, candidates.size()); ++i)
            helpers.emplace_back(work);
        work();
    }
    std::vector<Prediction> predictions;
    for (size_t i = 0; i < candidates.size(); ++i) {
        PACE_TRY_ASSIGN(outcome, *outcomes[i]);
        predictions.push_back({candidates[i], outcome});
    }
    return predictions;
}

}  // namespace pace::simulator
