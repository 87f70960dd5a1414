#include "service/pacectl/facts/job_facts.h"

#include <algorithm>

#include "service/pacectl/columns/nearest.h"

namespace pace::pacectl {

const Json* find_job(const Json& status, std::string_view name) {
    for (const Json& job : list(status, "jobs")) {
        if (text(job, "name") == name) return &job;
    }
    return nullptr;
}

base::Error no_such_job(const Json& status, std::string_view name) {
    std::vector<std::string> names;
    for (const Json& job : list(status, "jobs")) names.push_back(text(job, "name"));
    const std::string meant = meant_text(name, names);
    return base::make_error(base::ErrorKind::not_found,
                            "there is no job '{}'{} `pacectl job list` shows all", name,
                            meant.empty() ? ";" : meant);
}

std::string job_state(const Json& job) {
    std::string told = text(job, "state", "");
    if (!told.empty()) return told;
    return truth(job, "started") ? "running" : "joining";
}

size_t worker_count(const Json& job) {
    return list(job, "workers").size() + count(job, "workers_left_out");
}

bool is_told(const Json& job, const char* key) {
    const Json& workers = list(job, "workers");
    return std::any_of(workers.begin(), workers.end(),
                       [&](const Json& worker) { return !member(worker, key).is_null(); });
}

std::optional<Slow> slow_of(const Json& worker) {
    const Json& slow = member(worker, "slow");
    if (!slow.is_object()) return std::nullopt;
    return Slow{number(slow, "factor"), number(slow, "since_s", -1), text(slow, "why"),
                text(slow, "text", "")};
}

std::string slow_text(const Slow& slow) {
    constexpr double kWorthTellingS = 0.1;
    std::string said =
        slow.factor > 0 ? fmt::format("{:.1f} times the median", slow.factor) : std::string("slow");
    if (slow.since_s >= kWorthTellingS)
        said += fmt::format(" for {}", duration_text(slow.since_s * 1000));
    said += ", " + slow.why;
    return slow.text.empty() ? said : said + ": " + slow.text;
}

std::string activity_text(const Json& worker) {
    const std::string activity = text(worker, "activity");
    const double since_s = number(worker, "activity_s", -1);
    return since_s < 0 ? activity : activity + " " + duration_text(since_s * 1000);
}

std::string total_text(const Json& of, std::string_view what) {
    return duration_text(number(member(of, what), "total_s", -1) * 1000);
}

std::string median_text(const Json& of, std::string_view what) {
    return duration_text(number(member(of, what), "median_ms", -1));
}

uint64_t progress_of(const Json& worker) {
    return std::max(count(worker, "iteration"), count(worker, "rounds_submitted"));
}

}  // namespace pace::pacectl
