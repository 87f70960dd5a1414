#include "service/simulator/files/scenario_file.h"

#include <algorithm>

#include "service/controller/core/options/job_options.h"
#include "service/controller/vocabulary/options.h"
#include "service/simulator/files/cluster_file.h"
#include "service/simulator/files/file_table.h"
#include "service/simulator/files/try_file.h"
#include "service/simulator/model/candidate.h"
#include "settings/toml_document.h"

namespace pace::simulator {

using base::Result;

namespace {

constexpr uint64_t kStepsMax = 10'000;

// Reads a word of a choice whose numbers begin with 1.
template <typename Choice>
Result<> read_choice(const FileTable& table, std::string_view key, Choice& ret_choice) {
    PACE_TRY_ASSIGN(index,
                    table.word(key, words_of(ret_choice), static_cast<size_t>(ret_choice) - 1));
    ret_choice = static_cast<Choice>(index + 1);
    return {};
}

Result<> read_size(const FileTable& table, Scenario& ret_scenario) {
    static constexpr std::string_view kTypes[] = {"f32", "f64", "f16", "bf16"};
    static constexpr double kTypeBytes[] = {4, 8, 2, 2};
    if (table.has("bytes")) {
        if (table.has("parameters") || table.has("dtype"))
            return table.error("bytes", "give either bytes, or parameters and dtype");
        PACE_TRY_ASSIGN(bytes, table.bytes("bytes", kBytesMax));
        ret_scenario.bytes = static_cast<double>(bytes);
        return {};
    }
    if (!table.has("parameters"))
        return table.error("bytes", "give the model's size, or parameters and dtype");
    PACE_TRY_ASSIGN(parameters, table.whole("parameters", 1, kBytesMax / 8));
    PACE_TRY_ASSIGN(type, table.word("dtype", kTypes, 0));
    ret_scenario.element_bytes = kTypeBytes[type];
    ret_scenario.bytes = static_cast<double>(parameters) * kTypeBytes[type];
    return {};
}

Result<> read_job(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(table, file.table("job"));
    PACE_TRY(table.allow({"bytes", "parameters", "dtype", "weights", "alpha", "missing",
                          "group_wait_ms", "progress_gap"}));
    PACE_TRY(read_size(table, ret_scenario));
    controller::JobOptions& options = ret_scenario.options;
    PACE_TRY(read_choice(table, "weights", options.weights));
    PACE_TRY(read_choice(table, "missing", options.missing));
    PACE_TRY_ASSIGN(alpha, table.number("alpha", 0, 0.999, options.alpha));
    PACE_TRY_ASSIGN(wait, table.whole("group_wait_ms", 0, 3'600'000, 0));
    PACE_TRY_ASSIGN(gap, table.whole("progress_gap", 0, 1'000'000, 0));
    options.alpha = alpha;
    options.group_wait_ms = static_cast<uint32_t>(wait);
    if (gap != 0) options.progress_gap = static_cast<uint32_t>(gap);
    return {};
}

Result<> read_run(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(table, file.table("run"));
    PACE_TRY(table.allow({"steps", "seed"}));
    PACE_TRY_ASSIGN(steps, table.whole("steps", 5, kStepsMax, usual_steps(ret_scenario.world())));
    PACE_TRY_ASSIGN(seed, table.whole("seed", 0, INT64_MAX, 1));
    ret_scenario.steps = static_cast<uint32_t>(steps);
    ret_scenario.seed = seed;
    return {};
}

}  // namespace

uint32_t usual_steps(uint64_t workers) {
    return static_cast<uint32_t>(std::clamp<uint64_t>(120'000 / workers, 12, 2'000));
}

Result<Scenario> parse_scenario(std::string_view document, std::string_view file) {
    PACE_TRY_ASSIGN(parsed, settings::parse_toml(document, file));
    const FileTable table(&parsed, "", std::string(file));
    PACE_TRY(table.allow({"job", "step", "network", "nodes", "workers", "now", "try", "run"}));
    Scenario scenario;
    PACE_TRY(read_job(table, scenario));
    PACE_TRY(read_cluster(table, scenario));
    PACE_TRY(read_now(table, scenario));
    PACE_TRY(read_try(table, scenario));
    PACE_TRY(read_run(table, scenario));
    PACE_TRY(check_candidates(scenario));
    return scenario;
}

Result<Scenario> read_scenario(const std::string& path) {
    PACE_TRY_ASSIGN(document, settings::read_document(path));
    return parse_scenario(document, path);
}

Result<> check_candidates(const Scenario& scenario) {
    for (const Candidate& candidate : candidates_of(scenario))
        PACE_TRY(controller::check(options_of(scenario, candidate)));
    return {};
}

}  // namespace pace::simulator
