// pace-sim: predicts how a job would run under each policy and group size. Only the command line.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "service/simulator/candidate.h"
#include "service/simulator/predict.h"
#include "service/simulator/report.h"
#include "service/simulator/scenario_file.h"

namespace {

using namespace pace;

struct Arguments {
    std::string file;
    bool json = false;
    std::vector<std::string> policies;
    std::vector<uint32_t> group_sizes;
    std::optional<uint32_t> steps;
    std::optional<uint64_t> seed;
};

constexpr const char* kFooter =
    "A file is TOML:\n"
    "  [job]      bytes = \"100 MB\", or parameters and dtype (f32, f64, f16, bf16);\n"
    "             weights, alpha, missing, group_wait_ms, progress_gap as in a job's options\n"
    "  [step]     distribution = constant, normal, lognormal (mean_ms, cv), exponential, pareto\n"
    "             (mean_ms, min_ms) or trace (times_ms = [...]): how long a worker computes\n"
    "  [network]  latency_us = 50, controller_us = 500 (from a ready signal to its order)\n"
    "  [[nodes]]  workers, count = 1, link_gbit = 10, memory_gbytes_per_s = 10, machine (a name:\n"
    "             nodes on it share both), slow = 1 (factor of its steps), a step of their own\n"
    "  [[workers]] ranks = [...] with a slow or step of their own\n"
    "  [try]      policies, group_sizes\n"
    "  [run]      steps (updates of the average worker), seed\n"
    "Columns: UPDATES/S of all workers; UPDATE, SLOWEST: seconds from one update of a worker to "
    "its\n"
    "next, of the median and the slowest worker; WAITING, EXCHANGING: shares of the workers' "
    "time;\n"
    "CONFLICTS: updates that waited because a member of the named group was in an earlier one;\n"
    "RHO: spectral gap, how slowly models mix, 1: never; SPREAD: squared distance of models from\n"
    "their mean, in units of one update; EFFECTIVE/S: UPDATES/S / (1 + SPREAD), what is chosen by.";

std::string words() {
    std::string all;
    for (const std::string_view word : simulator::simulated_policies().words)
        all += (all.empty() ? "" : ", ") + std::string(word);
    return all;
}

void declare(CLI::App& app, Arguments& arguments) {
    app.set_version_flag("--version", "pace-sim " PACE_VERSION);
    app.add_option("file", arguments.file, "The job and its cluster.")->required();
    app.add_flag("--json", arguments.json, "A JSON document instead of a table.");
    app.add_option("--policy", arguments.policies, "Only these, not the file's: " + words() + ".")
        ->type_name("WORD")
        ->allow_extra_args(false);
    app.add_option("--group-size", arguments.group_sizes, "Only these, not the file's.")
        ->allow_extra_args(false);
    app.add_option("--steps", arguments.steps, "Updates of the average worker to measure.")
        ->check(CLI::Range(5, 10'000));
    app.add_option("--seed", arguments.seed, "Of every random choice; the same again, the same.");
    app.footer(kFooter);
}

// What the command line says goes before what the file says.
base::Result<> apply(const Arguments& arguments, simulator::Scenario& scenario) {
    if (!arguments.policies.empty()) scenario.policies.clear();
    const simulator::Choices known = simulator::simulated_policies();
    for (const std::string& name : arguments.policies) {
        const auto found = std::find(known.words.begin(), known.words.end(), name);
        if (found == known.words.end())
            return base::make_error(base::ErrorKind::invalid, "--policy {} is none of {}", name,
                                    words());
        scenario.policies.push_back(
            known.policies[static_cast<size_t>(found - known.words.begin())]);
    }
    if (!arguments.group_sizes.empty()) scenario.group_sizes = arguments.group_sizes;
    if (arguments.steps) scenario.steps = *arguments.steps;
    if (arguments.seed) scenario.seed = *arguments.seed;
    return simulator::check_candidates(scenario);
}

base::Result<std::string> run(const Arguments& arguments) {
    PACE_TRY_ASSIGN(scenario, simulator::read_scenario(arguments.file));
    PACE_TRY(apply(arguments, scenario));
    PACE_TRY_ASSIGN(predictions, simulator::predict_all(scenario));
    return arguments.json ? simulator::document(scenario, predictions)
                          : simulator::table(scenario, predictions);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Predicts how a job would run under each policy and group size, with the controller's own "
        "core under a virtual clock, and says which to choose.",
        "pace-sim"};
    Arguments arguments;
    declare(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    const auto text = run(arguments);
    if (!text) {
        std::fprintf(stderr, "pace-sim: %s\n", text.error().message.c_str());
        return 2;
    }
    const bool written = std::fwrite(text->data(), 1, text->size(), stdout) == text->size();
    if (written && std::fflush(stdout) == 0) return 0;
    std::fputs("pace-sim: standard output takes no more\n", stderr);
    return 1;
}
