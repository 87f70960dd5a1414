// The program behind tests/simulate: runs seeds one after the other, and says what they have shown.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/log/log.h"
#include "tests/world/world.h"

namespace pace::world {
namespace {

struct Asked {
    double hours = 0;
    uint64_t seed = 1;
    uint64_t runs = 0;
    uint32_t workers = 0;  // 0: the seed decides
    std::string family;
    std::string point;  // empty: all
    std::string kind;   // of fault; empty: all
    bool points = false;
    bool verbose = false;
    bool whole = false;
    bool clients = false;  // in every world

    Plan with_clients(Plan plan) const {
        plan.clients = plan.clients || clients;
        return plan;
    }
};

struct Total {
    uint64_t runs = 0;
    uint64_t calls = 0;
    uint64_t faults = 0;
    Duration lasted{};
    uint64_t failed = 0;
    void add(const Report& report) {
        ++runs;
        calls += report.calls;
        faults += report.faults;
        lasted += report.lasted;
        failed += report.wrongs.empty() ? 0 : 1;
    }
};

void say_wrong(const Plan& plan, const Report& report, bool whole) {
    std::printf("seed %llu (%s) went wrong:\n", static_cast<unsigned long long>(plan.seed),
                std::string(name_of(plan.family)).c_str());
    for (const std::string& wrong : report.wrongs) std::printf("    %s\n", wrong.c_str());
    const Plan least = whole ? plan : shrunk(plan, 200);
    std::printf("with the fewest faults: %s\n", to_text(least).c_str());
    if (!whole)
        for (const std::string& wrong : run(least).wrongs) std::printf("    %s\n", wrong.c_str());
    std::fflush(stdout);
}

// Where a fault of a kind can happen in a calm run, and how often that run passes it.
struct Place {
    Family family{};
    std::string point;
    uint32_t times = 0;
    FaultKind kind{};
};

// Those that are asked for: before and after everything that is said or written.
std::vector<Place> places_of(const Asked& asked) {
    const auto is_asked = [](const std::string& wanted, std::string_view name) {
        return wanted.empty() || wanted == name;
    };
    std::vector<Place> places;
    for (size_t i = 0; i < kFamilies; ++i) {
        const auto family = static_cast<Family>(i);
        if (!is_asked(asked.family, name_of(family))) continue;
        Plan calm = asked.with_clients(
            plan_of_point(asked.seed, family, FaultKind::trainer_dies, "never", 1));
        if (family == Family::server) calm.jobs[0].checkpoint_every_ms = 200;
        for (const auto& [point, times] : run(calm).points) {
            if (!is_asked(asked.point, point)) continue;
            for (size_t kind = 0; kind < kFaultKinds; ++kind)
                if (is_asked(asked.kind, name_of(static_cast<FaultKind>(kind))))
                    places.push_back({family, point, times, static_cast<FaultKind>(kind)});
        }
    }
    return places;
}

// A fault at each of the places, at one of the times that the place is passed. There is at least
// one place.
template <typename Until>
Total run_points(const Asked& asked, const std::vector<Place>& places, const Until& is_over) {
    Total total;
    for (uint64_t seed = asked.seed; !is_over(total.runs); ++seed)
        for (const Place& place : places) {
            if (is_over(total.runs)) break;
            base::Random random(seed * 1000 + static_cast<uint64_t>(place.kind));
            const Plan plan = asked.with_clients(
                plan_of_point(seed, place.family, place.kind, place.point,
                              1 + static_cast<uint32_t>(random.below(std::min(place.times, 40U)))));
            const Report report = run(plan);
            total.add(report);
            if (!report.wrongs.empty()) say_wrong(plan, report, asked.whole);
        }
    return total;
}

template <typename Until>
Total run_seeds(const Asked& asked, const Until& is_over) {
    Total total;
    for (uint64_t seed = asked.seed; !is_over(total.runs); ++seed) {
        const Plan plan = asked.with_clients(plan_of(seed, family_of(asked.family), asked.workers));
        const Report report = run(plan);
        total.add(report);
        if (asked.verbose)
            std::printf(
                "seed %llu: %s, %llu calls, %llu faults, %.1f s\n",
                static_cast<unsigned long long>(seed), std::string(name_of(plan.family)).c_str(),
                static_cast<unsigned long long>(report.calls),
                static_cast<unsigned long long>(report.faults), base::to_seconds(report.lasted));
        if (!report.wrongs.empty()) say_wrong(plan, report, asked.whole);
    }
    return total;
}

int main_of(const Asked& asked) {
    base::set_log_level(asked.verbose && asked.runs == 1 ? base::LogLevel::debug
                                                         : base::LogLevel::none);
    const auto began = std::chrono::steady_clock::now();
    const auto is_over = [&](uint64_t runs) {
        if (asked.runs != 0) return runs >= asked.runs;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
        return passed.count() >= asked.hours * 3600;
    };
    const std::vector<Place> places = asked.points ? places_of(asked) : std::vector<Place>();
    if (asked.points && places.empty()) {
        std::fprintf(stderr, "no such point or kind of fault; see --help and a run's output\n");
        return 2;
    }
    const Total total =
        asked.points ? run_points(asked, places, is_over) : run_seeds(asked, is_over);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf(
        "%llu runs, %llu calls, %llu faults, %.1f simulated hours in %.1f s: %llu went "
        "wrong\n",
        static_cast<unsigned long long>(total.runs), static_cast<unsigned long long>(total.calls),
        static_cast<unsigned long long>(total.faults), base::to_seconds(total.lasted) / 3600,
        took.count(), static_cast<unsigned long long>(total.failed));
    return total.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pace::world

int main(int argc, char** argv) {
    pace::world::Asked asked;
    CLI::App app{
        "Runs all of Pace in simulated time under faults of every kind, one seed after the "
        "other. A seed that goes wrong is printed with the fewest faults that show it, and "
        "can be run again by --seed N --runs 1."};
    app.add_option("--hours", asked.hours, "how long to run, of real time (default: a minute)");
    app.add_option("--seed", asked.seed, "the first seed");
    app.add_option("--runs", asked.runs, "run so many seeds instead of so many hours");
    app.add_option("--family", asked.family,
                   "only all-reduce, quorum, top-k, groups, static-groups or server");
    auto* const workers =
        app.add_option("--workers", asked.workers,
                       "force so many workers on up to 16 machines (default: the seed decides)")
            ->check(CLI::Range(2U, pace::world::kWorkersMax));
    app.add_flag("--points", asked.points,
                 "one fault in each run: every family and kind of fault before and after each "
                 "message and record")
        ->excludes(workers);
    app.add_option("--point", asked.point, "of --points only this one, such as 'after CommitView'");
    app.add_option("--kind", asked.kind, "of --points only this fault, such as 'link is cut'");
    app.add_flag("--clients", asked.clients,
                 "trainers have libpace, and daemons its clients, in every world (default: the "
                 "seed decides)");
    app.add_flag("--whole", asked.whole, "do not look for the fewest faults");
    app.add_flag("--verbose", asked.verbose, "a line for each seed; the daemons' log if it is one");
    CLI11_PARSE(app, argc, argv);
    if (asked.hours == 0) asked.hours = 1.0 / 60;
    if (!asked.family.empty() && !pace::world::family_of(asked.family)) {
        std::fprintf(stderr, "no family \"%s\"; see --help\n", asked.family.c_str());
        return 2;
    }
    return pace::world::main_of(asked);
}
