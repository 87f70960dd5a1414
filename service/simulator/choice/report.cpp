#include "service/simulator/choice/report.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "service/controller/vocabulary/options.h"
#include "service/pacectl/columns/columns.h"
#include "service/simulator/choice/choice.h"

namespace pace::simulator {

namespace {

// Three digits, whatever the unit is.
std::string digits(double value) {
    const int places = value < 10 ? 2 : value < 100 ? 1 : 0;
    return fmt::format("{:.{}f}", value, places);
}

std::string time_text(double seconds) {
    if (seconds < 1e-3) return digits(seconds * 1e6) + " us";
    if (seconds < 1) return digits(seconds * 1e3) + " ms";
    return digits(seconds) + " s";
}

std::string share_text(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

std::string size_text(const Candidate& candidate) {
    if (candidate.policy == controller::Policy::prague_static) return "-";  // the groups take turns
    if (family_of(candidate.policy) == controller::Family::server) return "-";
    if (candidate.policy == controller::Policy::automatic) return "auto";
    return candidate.group_size == 0 ? "all" : fmt::format("{}", candidate.group_size);
}

double conflict_share(const Outcome& outcome) {
    return static_cast<double>(outcome.conflicts) / static_cast<double>(outcome.updates);
}

// In large jobs rho is so near to 1 that only the difference from 1 is informative.
std::string rho_text(double rho) {
    return rho > 0.999 && rho < 1 ? fmt::format("1-{:.1e}", 1 - rho) : fmt::format("{:.3f}", rho);
}

std::string summary(const Scenario& scenario) {
    std::string text = fmt::format(
        "{} workers on {} nodes, {:.4g} MB, {} updates of the average worker, seed {}\n",
        scenario.world(), scenario.nodes.size(), scenario.bytes / 1e6, scenario.steps,
        scenario.seed);
    for (const std::string& note : scenario.notes) text += note + "\n";
    return text + "\n";
}

nlohmann::ordered_json json_of(const Prediction& prediction) {
    const Outcome& o = prediction.outcome;
    nlohmann::ordered_json json;
    json["policy"] = name_of(prediction.candidate.policy);
    if (prediction.candidate.group_size == 0)
        json["group_size"] = nullptr;
    else
        json["group_size"] = prediction.candidate.group_size;
    for (const auto& [option, value] : asked_by(prediction.candidate))
        json["options"][option] = value;
    json["updates"] = o.updates;
    json["groups"] = o.groups;
    json["updates_per_s"] = o.updates_per_s;
    json["update_median_s"] = o.update_median_s;
    json["update_slowest_s"] = o.update_slowest_s;
    json["waiting_share"] = o.waiting_share;
    json["exchanging_share"] = o.exchanging_share;
    json["conflicts"] = o.conflicts;
    json["conflict_share"] = conflict_share(o);
    json["staleness_mean"] = o.staleness;
    json["rho"] = o.rho;
    json["spread"] = o.spread;
    json["effective_per_s"] = o.effective_per_s();
    return json;
}

nlohmann::ordered_json json_of(const Gain& gain) {
    nlohmann::ordered_json json;
    json["choice"] = text_of(gain.choice);
    json["over"] = text_of(gain.over);
    json["ratio_mean"] = gain.mean();
    json["ratio_least"] = gain.least();
    json["ratio_most"] = gain.most();
    json["ratios"] = gain.ratios;
    json["advice"] = sentence_of(gain);
    return json;
}

}  // namespace

std::string table(const Scenario& scenario, std::span<const Prediction> predictions,
                  const std::optional<Gain>& gain) {
    pacectl::Columns columns({"POLICY", ">GROUP", ">UPDATES/S", ">UPDATE", ">SLOWEST", ">WAITING",
                              ">EXCHANGING", ">CONFLICTS", ">RHO", ">SPREAD", ">EFFECTIVE/S", ""});
    const size_t best = best_of(predictions);
    for (size_t i = 0; i < predictions.size(); ++i) {
        const Outcome& o = predictions[i].outcome;
        columns.add({label_of(predictions[i].candidate), size_text(predictions[i].candidate),
                     digits(o.updates_per_s), time_text(o.update_median_s),
                     time_text(o.update_slowest_s), share_text(o.waiting_share),
                     share_text(o.exchanging_share), share_text(conflict_share(o)), rho_text(o.rho),
                     digits(o.spread), digits(o.effective_per_s()), i == best ? "<-" : ""});
    }
    std::string text = summary(scenario) + columns.text("") + "\n" + advice(predictions) + "\n";
    if (gain) text += "\n" + sentence_of(*gain) + "\n";
    return text;
}

std::string document(const Scenario& scenario, std::span<const Prediction> predictions,
                     const std::optional<Gain>& gain) {
    nlohmann::ordered_json json;
    json["scenario"] = {{"workers", scenario.world()}, {"nodes", scenario.nodes.size()},
                        {"bytes", scenario.bytes},     {"steps", scenario.steps},
                        {"seed", scenario.seed},       {"notes", scenario.notes}};
    for (const Prediction& prediction : predictions)
        json["predictions"].push_back(json_of(prediction));
    json["choice"] = json_of(predictions[best_of(predictions)]);
    json["choice"]["because"] = advice(predictions);
    if (gain) json["gain"] = json_of(*gain);
    return json.dump(2) + "\n";
}

}  // namespace pace::simulator
