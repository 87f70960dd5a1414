#include "service/metrics/model_metrics.h"

namespace pace::metrics {

namespace {

constexpr Family kModelSlowest{"pace_model_slowest_clock", Type::gauge, "",
                               "Steps that the slowest worker has pushed."};
constexpr Family kModelFastest{"pace_model_fastest_clock", Type::gauge, "",
                               "Steps that the fastest worker has pushed."};
constexpr Family kModelPushes{"pace_model_pushes", Type::counter, "",
                              "Updates that are in the model."};
constexpr Family kModelPulls{"pace_model_pulls", Type::counter, "",
                             "How often workers have got the model."};
constexpr Family kModelPullsWaiting{"pace_model_pulls_waiting", Type::gauge, "",
                                    "Pulls that staleness holds back now."};
constexpr Family kModelVersions{"pace_model_live_versions", Type::gauge, "",
                                "Versions that may get further updates."};
constexpr Family kModelWaited{"pace_model_waited_seconds", Type::counter, "seconds",
                              "Time for which staleness has held pulls back."};
constexpr Family kModelPullWaited{"pace_worker_pull_waited_seconds", Type::counter, "seconds",
                                  "Time for which staleness has held the worker's pulls back."};
constexpr Family kModelStaleness{"pace_model_push_staleness", Type::histogram, "",
                                 "Versions that pushes were behind."};
constexpr Family kModelCheckpointAge{"pace_model_checkpoint_age_seconds", Type::gauge, "seconds",
                                     "Time since the last whole checkpoint."};
constexpr Family kModelCheckpointFailed{"pace_model_checkpoint_failed", Type::gauge, "",
                                        "1 if the last checkpoint failed."};
constexpr Family kModelWaitsForNode{"pace_model_waits_for_node", Type::gauge, "",
                                    "1 if a node that keeps a part of the model is missing."};

// The document lists the 64 workers that have waited longest, as [rank, seconds].
void add_waits(Exposition& metrics, const Json& model, const Labels& labels) {
    for (const Json& wait : list(model, "waited_by_s"))
        if (wait.is_array() && wait.size() == 2 && wait[0].is_number() && wait[1].is_number())
            metrics.add(kModelPullWaited, labels.with("rank", wait[0].dump()),
                        wait[1].get<double>());
}

}  // namespace

void add_model(Exposition& metrics, const Json& model, const Labels& labels) {
    for (const auto& [key, family] : {std::pair("slowest_clock", &kModelSlowest),
                                      {"fastest_clock", &kModelFastest},
                                      {"pushes", &kModelPushes},
                                      {"pulls", &kModelPulls},
                                      {"pulls_waiting", &kModelPullsWaiting},
                                      {"live_versions", &kModelVersions},
                                      {"waited_total_s", &kModelWaited}})
        metrics.add(*family, labels, number(model, key));
    metrics.add(kModelWaitsForNode, labels, truth(model, "waits_for_a_node") ? 1 : 0);
    add_waits(metrics, model, labels);
    std::vector<double> staleness;
    for (const Json& bucket : list(model, "staleness"))
        staleness.push_back(bucket.is_number() ? bucket.get<double>() : 0);
    metrics.add_histogram(kModelStaleness, labels, staleness);
    const Json& checkpoint = member(model, "checkpoint");
    if (has_number(checkpoint, "age_s"))
        metrics.add(kModelCheckpointAge, labels, number(checkpoint, "age_s"));
    metrics.add(kModelCheckpointFailed, labels, member(checkpoint, "failure").is_string() ? 1 : 0);
}

}  // namespace pace::metrics
