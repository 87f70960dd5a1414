#include "service/simulator/choice/choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "service/controller/vocabulary/options.h"

namespace pace::simulator {

namespace {

bool is_worse(const Prediction& a, const Prediction& b) {
    const bool a_mixes = a.outcome.rho < 1;
    const bool b_mixes = b.outcome.rho < 1;
    if (a_mixes != b_mixes) return b_mixes;
    return a.outcome.effective_per_s() < b.outcome.effective_per_s();
}

const Prediction* find(std::span<const Prediction> predictions, const Candidate& candidate) {
    const auto found = std::find_if(predictions.begin(), predictions.end(),
                                    [&](const Prediction& p) { return p.candidate == candidate; });
    return found == predictions.end() ? nullptr : &*found;
}

// Writes "policy partial-reduce, group_size 3", as keywords of Python.
std::string asking_for(const Candidate& candidate) {
    std::string text;
    for (auto [option, value] : asked_by(candidate)) {
        std::replace(option.begin(), option.end(), '.', '_');
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", option, value);
    }
    return text;
}

// What the figures do not include about learning.
std::string caveat(const Candidate& candidate) {
    if (is_top_k(candidate.compression))
        return "What training loses by what it leaves out is not in these figures. ";
    if (candidate.quorum != controller::Quorum::all ||
        family_of(candidate.policy) == controller::Family::server)
        return "That gradients of an older model may be worth less is not in these figures. ";
    return "";
}

std::string beside_all_reduce(const Outcome& best, const Outcome& all) {
    return fmt::format(
        "All-reduce makes {:.4g} updates per second, {:.2f} times as many, and its workers wait "
        "{:.0f} % of their time. ",
        all.updates_per_s, all.updates_per_s / best.updates_per_s, 100 * all.waiting_share);
}

// Describes the fastest candidate if it is not the choice.
std::string beside_fastest(std::span<const Prediction> predictions, const Prediction& best) {
    const auto fastest =
        std::max_element(predictions.begin(), predictions.end(), [](const auto& a, const auto& b) {
            return a.outcome.updates_per_s < b.outcome.updates_per_s;
        });
    if (fastest->outcome.updates_per_s <= best.outcome.updates_per_s) return "";
    return fmt::format(
        "Most updates are made by {} ({:.4g} per second), but on models that are further apart "
        "(spread {:.2f}, here {:.2f}). ",
        text_of(fastest->candidate), fastest->outcome.updates_per_s, fastest->outcome.spread,
        best.outcome.spread);
}

}  // namespace

size_t best_of(std::span<const Prediction> predictions) {
    return static_cast<size_t>(std::max_element(predictions.begin(), predictions.end(), is_worse) -
                               predictions.begin());
}

std::string advice(std::span<const Prediction> predictions) {
    const Prediction& best = predictions[best_of(predictions)];
    const Outcome& outcome = best.outcome;
    std::string text =
        fmt::format("Choose {} ({}", text_of(best.candidate), asking_for(best.candidate));
    text += fmt::format(
        "): {:.4g} updates per second, worth {:.4g} made on one common model, the most of all. ",
        outcome.updates_per_s, outcome.effective_per_s());
    const Prediction* all = find(predictions, Candidate{});
    if (all != nullptr && all != &best) text += beside_all_reduce(outcome, all->outcome);
    text += beside_fastest(predictions, best);
    text += caveat(best.candidate);
    if (outcome.rho >= 1)
        text += "None of these connects all workers: give larger groups or more steps. ";
    text.pop_back();
    return text;
}

}  // namespace pace::simulator
