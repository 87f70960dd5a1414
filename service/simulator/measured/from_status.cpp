#include "service/simulator/measured/from_status.h"

#include <fmt/format.h>

#include "service/simulator/files/cluster_file.h"
#include "service/simulator/files/scenario_file.h"
#include "service/simulator/measured/measured_exchange.h"
#include "service/simulator/measured/measured_file.h"
#include "service/simulator/measured/measured_job.h"

namespace pace::simulator {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

Result<> check_workers(const MeasuredJob& job, const MeasuredSteps& steps) {
    if (job.workers.size() < 2)
        return make_error(ErrorKind::invalid,
                          "job '{}' has {} workers now; pace-sim needs at least 2, that there is "
                          "something to average",
                          job.name, job.workers.size());
    if (job.workers.size() > kWorkersMax)
        return make_error(ErrorKind::limit, "job '{}' has {} workers; pace-sim knows {} at most",
                          job.name, job.workers.size(), kWorkersMax);
    if (steps.median_ms <= 0)
        return make_error(ErrorKind::invalid,
                          "no worker of job '{}' has measured a step yet; try again when it has "
                          "made a few",
                          job.name);
    return {};
}

// The workers' present rate, from their medians. Returns nothing unless all workers have medians.
std::optional<std::string> rate_note(const MeasuredJob& job) {
    double updates_per_s = 0;
    for (const MeasuredWorker& worker : job.workers) {
        if (worker.step_ms <= 0 || worker.exchanged_ms <= 0) return std::nullopt;
        updates_per_s += 1e3 / (worker.step_ms + worker.waited_ms + worker.exchanged_ms);
    }
    return fmt::format(
        "By their median step, wait and exchange the workers make {:.4g} updates per second now.",
        updates_per_s);
}

// Sets the speed of memory. It is a guess unless the time of exchanges tells it. Then it is the
// time that exchanges of the model take beyond the links.
void find_memory(bool size_is_by_time, Measurements& ret_found) {
    ret_found.memory_gbytes_per_s = kMemoryGbytesPerS;
    const auto exchange = exchange_of(ret_found.job, ret_found.links);
    const auto told = exchange && !size_is_by_time
                          ? memory_by(*exchange, static_cast<double>(ret_found.bytes))
                          : std::nullopt;
    if (told) ret_found.memory_gbytes_per_s = *told;
    ret_found.notes.push_back(
        told ? fmt::format("Memory of {:.3g} GB/s: with it exchanges take as long as measured.",
                           *told)
             : fmt::format("Assumed: memory of {} GB/s; nobody measures it.", kMemoryGbytesPerS));
}

void add_assumed(const MeasuredJob& job, std::vector<std::string>& ret_notes) {
    ret_notes.push_back(fmt::format(
        "Assumed: {} us from a signal to its order; nobody measures them.", kControllerUs));
    if (job.workers_left_out > 0)
        ret_notes.push_back(fmt::format(
            "{} more workers are not in the document, and not predicted.", job.workers_left_out));
    if (const auto note = rate_note(job)) ret_notes.push_back(*note);
}

void append(const std::vector<std::string>& notes, std::vector<std::string>& ret_notes) {
    ret_notes.insert(ret_notes.end(), notes.begin(), notes.end());
}

}  // namespace

Result<FromStatus> scenario_from_status(std::string_view document, std::string_view source,
                                        std::string_view job, std::optional<uint64_t> bytes) {
    PACE_TRY_ASSIGN(measured, read_measured_job(document, source, job));
    Measurements found{measured, steps_of(measured), links_of(measured), 0, 0, {}};
    PACE_TRY(check_workers(measured, found.steps));
    MeasuredSize size{bytes.value_or(0)};
    if (!bytes) {
        PACE_TRY_ASSIGN(told, size_of(measured, found.links));
        size = told;
    }
    found.bytes = size.bytes;
    append(found.steps.notes, found.notes);
    if (!size.note.empty()) found.notes.push_back(size.note);
    append(found.links.notes, found.notes);
    find_memory(size.is_by_time, found);
    add_assumed(measured, found.notes);
    FromStatus made;
    made.file = file_of(found);
    PACE_TRY_ASSIGN(scenario, parse_scenario(made.file, "what was measured"));
    made.scenario = scenario;
    made.scenario.notes = found.notes;
    return made;
}

}  // namespace pace::simulator
