// controller_core_bench: measures how fast the controller's core decides. It forms groups of three
// over 10 to 10,000 simulated workers in virtual time. The cost of each event is measured in real
// time.
//
//   controller_core_bench [--json FILE] [--groups N]
//
// The latency of a decision is the time that the core took from the ready signal that completed its
// group to the end of the event that ordered it. The rate counts all events that a group needs: its
// signals, the order, the reports of its nodes, and the changes of view. The longest event is the
// longest time that a caller may have to wait. A status is built when a caller asks for it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "controller_core_bench_workload.h"
#include "service/controller/core/status/status.h"

namespace pace::bench {

Result Workload::summary(uint64_t groups) {
    std::sort(latencies_.begin(), latencies_.end());
    const auto at = [&](double q) {
        return latencies_[std::min(
            latencies_.size() - 1,
            static_cast<size_t>(q * static_cast<double>(latencies_.size())))];
    };
    Result result{scenario_, nodes_, static_cast<double>(groups) / to_seconds(busy_)};
    result.median_s = at(0.5);
    result.min_s = latencies_.front();
    result.max_s = latencies_.back();
    result.p99_s = at(0.99);
    result.longest_event_s = to_seconds(longest_);
    const TimePoint before = base::now();
    const size_t jobs = core_.status(now_).jobs.size();
    result.status_s = jobs == 0 ? 0 : to_seconds(base::now() - before);
    return result;
}

namespace {

const std::vector<Scenario> kScenarios = {
    {"pace", 10, 0, {}},
    {"pace", 1'000, 0, {}},
    {"pace", 10'000, 0, {}},
    {"pace, stragglers", 10'000, 0.01, {}},
    {"pace, churn", 10'000, 0, std::chrono::milliseconds(100)},
};

void print(const Result& r) {
    fmt::print(
        "{:<17} {:>6} workers: {:>7.0f} decisions/s, latency median {:.1f} us, 99 % {:.1f} us, "
        "max {:.0f} us; longest event {:.0f} us, status {:.1f} ms\n",
        r.scenario.name, r.scenario.workers, r.decisions_per_s, r.median_s * 1e6, r.p99_s * 1e6,
        r.max_s * 1e6, r.longest_event_s * 1e6, r.status_s * 1e3);
    std::fflush(stdout);
}

std::string to_json(const std::vector<Result>& results) {
    std::string text = "[";
    for (const Result& r : results) {
        text += fmt::format(
            "{}\n  {{\"bench\": \"controller\", \"implementation\": \"{}\", \"workers\": {}, "
            "\"nodes\": {}, \"bytes\": 0, \"median_s\": {:.9f}, \"min_s\": {:.9f}, "
            "\"max_s\": {:.9f}, \"floor_s\": null, \"decisions_per_s\": {:.0f}, "
            "\"p99_s\": {:.9f}, \"longest_event_s\": {:.9f}, \"status_s\": {:.9f}}}",
            text.size() == 1 ? "" : ",", r.scenario.name, r.scenario.workers, r.nodes, r.median_s,
            r.min_s, r.max_s, r.decisions_per_s, r.p99_s, r.longest_event_s, r.status_s);
    }
    return text + "\n]\n";
}

}  // namespace
}  // namespace pace::bench

int main(int argc, char** argv) {
    std::string json;
    uint64_t groups = 200'000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
        if (std::strcmp(argv[i], "--groups") == 0) groups = std::strtoull(argv[i + 1], nullptr, 10);
    }
    if (groups < 10) groups = 10;
    std::vector<pace::bench::Result> results;
    for (const pace::bench::Scenario& scenario : pace::bench::kScenarios) {
        results.push_back(pace::bench::Workload(scenario, 1).run(groups));
        pace::bench::print(results.back());
    }
    if (json.empty()) return 0;
    std::ofstream file(json);
    file << pace::bench::to_json(results);
    file.close();
    if (!file) fmt::print(stderr, "cannot write {}\n", json);
    return file ? 0 : 1;
}
