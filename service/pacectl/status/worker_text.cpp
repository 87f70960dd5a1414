#include "service/pacectl/status/worker_text.h"

#include <algorithm>
#include <vector>

#include "service/pacectl/columns/columns.h"
#include "service/pacectl/facts/job_facts.h"

namespace pace::pacectl {

namespace {

// In rank order; if not all are shown, the slowest.
std::vector<const Json*> workers_to_show(const Json& job, size_t limit) {
    std::vector<const Json*> workers;
    for (const Json& worker : list(job, "workers")) workers.push_back(&worker);
    if (workers.size() <= limit) return workers;
    std::stable_sort(workers.begin(), workers.end(), [](const Json* a, const Json* b) {
        return number(*a, "step_median_ms") > number(*b, "step_median_ms");
    });
    workers.resize(limit);
    return workers;
}

// "-" if the worker has not taken a step yet.
std::string step_text(const Json& worker, std::string_view key) {
    const double step = number(worker, key);
    return step > 0 ? duration_text(step) : "-";
}

std::string worker_state(const Json& worker) {
    std::string state = text(worker, "status");
    if (truth(worker, "exchanging")) state += ", exchanging";
    return state;
}

// JSON has no number for a loss that is not finite.
std::string loss_text(const Json& worker) {
    if (!worker.contains("loss")) return "-";
    const Json& loss = member(worker, "loss");
    return loss.is_number() ? fmt::format("{:.4g}", loss.get<double>()) : "not finite";
}

std::string rate_text(const Json& worker) {
    const double rate = number(worker, "samples_per_s");
    return rate > 0 ? fmt::format("{:.4g}", rate) : "-";
}

// Whether any trainer has reported loss or speed.
bool has_progress(const Json& job) {
    const Json& workers = list(job, "workers");
    return std::any_of(workers.begin(), workers.end(), [](const Json& worker) {
        return worker.contains("loss") || worker.contains("samples_per_s");
    });
}

// Which columns are shown: those for which some worker has a value.
struct Told {
    bool activity = false;
    bool computed = false;
    bool training = false;
};

std::vector<std::string> headings(const Told& told) {
    std::vector<std::string> heads{">RANK", "NODE", "STATUS"};
    if (told.activity) heads.emplace_back("ACTIVITY");
    heads.insert(heads.end(), {">ITERATION", ">STEP", ">LAST STEP"});
    if (told.computed) heads.emplace_back(">COMPUTED");
    heads.insert(heads.end(), {">WAITING", ">WAITED", ">EXCHANGED"});
    if (told.training) heads.insert(heads.end(), {">LOSS", ">SAMPLES/S"});
    return heads;
}

std::vector<std::string> row_of(const Json& worker, const NodeNames& names, const Told& told) {
    std::vector<std::string> row{text(worker, "rank"), name_of_node(names, count(worker, "node")),
                                 worker_state(worker)};
    if (told.activity) row.push_back(activity_text(worker));
    row.insert(row.end(), {text(worker, "iteration"), step_text(worker, "step_median_ms"),
                           step_text(worker, "step_last_ms")});
    if (told.computed) row.push_back(total_text(worker, "computed"));
    row.insert(row.end(), {duration_text(number(worker, "waiting_ms", -1)),
                           total_text(worker, "waited"), total_text(worker, "exchanged")});
    if (told.training) row.insert(row.end(), {loss_text(worker), rate_text(worker)});
    return row;
}

// The slowest worker, as an older controller reports it.
std::string slowest_text(const Json& job, const NodeNames& names) {
    const Json& slowest = member(job, "slowest");
    if (!slowest.is_object()) return {};
    std::string where;
    for (const Json& worker : list(job, "workers")) {
        if (member(worker, "rank") == member(slowest, "rank"))
            where = " on " + name_of_node(names, count(worker, "node"));
    }
    return fmt::format("  slowest: rank {}{}, {:.1f} times the median step of {}\n",
                       text(slowest, "rank"), where, number(slowest, "factor", 1),
                       duration_text(number(job, "step_median_ms")));
}

}  // namespace

std::string workers_text(const Json& job, const NodeNames& names, size_t limit) {
    const Told told{is_told(job, "activity"), is_told(job, "computed"), has_progress(job)};
    Columns columns(headings(told));
    const auto workers = workers_to_show(job, limit);
    for (const Json* worker : workers) columns.add(row_of(*worker, names, told));
    if (columns.empty())
        return job_state(job) == "finished" ? std::string() : "  no worker has joined\n";
    return columns.text() + rows_left_out(workers.size(), list(job, "workers").size(),
                                          count(job, "workers_left_out"), "workers");
}

std::string slow_lines(const Json& job, const NodeNames& names) {
    constexpr size_t kNamed = 8;
    std::string lines;
    size_t found = 0;
    for (const Json& worker : list(job, "workers")) {
        const auto slow = slow_of(worker);
        if (!slow || ++found > kNamed) continue;
        lines += fmt::format("  slow: rank {} on {}, {}\n", text(worker, "rank"),
                             name_of_node(names, count(worker, "node")), slow_text(*slow));
    }
    if (found > kNamed) lines += fmt::format("  … and {} more are slow\n", found - kNamed);
    return lines.empty() ? slowest_text(job, names) : lines;
}

}  // namespace pace::pacectl
