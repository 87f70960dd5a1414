#include "service/pacectl/status/changes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "service/pacectl/facts/job_facts.h"
#include "service/pacectl/facts/node_names.h"

namespace pace::pacectl {

namespace {

constexpr const char* kGone = "gone";

// The subject of a change. Changes are reported in the order of subjects.
struct Subject {
    int order;  // jobs before their workers
    std::string what;
    std::string job;
    std::optional<uint64_t> rank;
    std::string node;
    auto key() const { return std::tie(order, job, rank, what, node); }
    bool operator<(const Subject& other) const { return key() < other.key(); }
};

struct Seen {
    std::string state;
    std::string text;
    std::string node;  // for a worker
};

using Snapshot = std::map<Subject, Seen>;

void look_at_workers(const Json& job, const NodeNames& names, Snapshot& ret_seen) {
    const std::string name = text(job, "name");
    for (const Json& worker : list(job, "workers")) {
        const uint64_t rank = count(worker, "rank");
        const std::string node = name_of_node(names, count(worker, "node"));
        ret_seen[{2, "worker", name, rank, {}}] = {text(worker, "status"), {}, node};
        if (const auto slow = slow_of(worker))
            ret_seen[{2, "slow", name, rank, {}}] = {slow->why, slow_text(*slow), node};
    }
}

Snapshot look_at(const Json& status, const std::string& job_name) {
    Snapshot seen;
    for (const Json& node : list(status, "nodes"))
        seen[{0, "node", {}, {}, text(node, "name")}] = {
            truth(node, "draining") ? "draining" : text(node, "status"), {}, {}};
    const NodeNames names = node_names(status);
    for (const Json& job : list(status, "jobs")) {
        const std::string name = text(job, "name");
        if (!job_name.empty() && name != job_name) continue;
        seen[{1, "job", name, {}, {}}] = {job_state(job), {}, {}};
        look_at_workers(job, names, seen);
    }
    return seen;
}

Change change_of(const Subject& subject, const Seen& seen, std::string from, std::string to) {
    return {subject.what,    subject.job,
            subject.rank,    subject.node.empty() ? seen.node : subject.node,
            std::move(from), std::move(to),
            seen.text};
}

bool is_worth_a_line_at_first(const Subject& subject, const Seen& seen) {
    return subject.what != "worker" || (seen.state != "active" && seen.state != "joined");
}

bool has_slow_worker(const Json& job) {
    const Json& workers = list(job, "workers");
    const bool is_any = std::any_of(workers.begin(), workers.end(),
                                    [](const Json& worker) { return slow_of(worker).has_value(); });
    return is_any || (!is_told(job, "activity") && member(job, "slowest").is_object());
}

bool holds_of(const std::string& condition, const Json& job) {
    const std::string state = job_state(job);
    if (condition == "finished") return state == "finished";
    if (condition == "started") return state != "joining";
    return state == "finished" || (state == "running" && !has_slow_worker(job));
}

// Whether the controller's last note on the job as a whole is its end.
bool has_noted_end(const Json& status, const std::string& job) {
    bool has_ended = false;
    for (const Json& event : list(status, "events")) {
        const std::string kind = text(event, "kind");
        if (kind.starts_with("job-") && text(event, "job", "") == job)
            has_ended = kind == "job-finished" || kind == "job-ended";
    }
    return has_ended;
}

}  // namespace

std::vector<Change> changes_between(const Json& before, const Json& after, const std::string& job) {
    const bool is_first = before.is_null();
    const Snapshot old = look_at(before, job);
    const Snapshot now = look_at(after, job);
    std::vector<Change> changes;
    for (const auto& [subject, seen] : now) {
        const auto was = old.find(subject);
        if (was != old.end() && was->second.state == seen.state) continue;
        if (is_first && !is_worth_a_line_at_first(subject, seen)) continue;
        changes.push_back(
            change_of(subject, seen, was == old.end() ? "" : was->second.state, seen.state));
    }
    for (const auto& [subject, seen] : old) {
        if (now.contains(subject)) continue;
        Seen last = seen;
        last.text.clear();
        changes.push_back(
            change_of(subject, last, seen.state, subject.what == "slow" ? "ok" : kGone));
    }
    return changes;
}

bool holds(const std::string& condition, const Json& before, const Json& status,
           const std::string& job) {
    if (!job.empty()) {
        const Json* now = find_job(status, job);
        if (now != nullptr) return holds_of(condition, *now);
        return condition == "finished" &&
               (find_job(before, job) != nullptr || has_noted_end(status, job));
    }
    const Json& jobs = list(status, "jobs");
    const bool is_any = !jobs.empty() || (condition == "finished" && !list(before, "jobs").empty());
    return is_any && std::all_of(jobs.begin(), jobs.end(),
                                 [&](const Json& one) { return holds_of(condition, one); });
}

std::string change_line(const Change& change) {
    std::string line;
    if (!change.job.empty()) line += "job " + change.job;
    if (change.rank) line += fmt::format(" rank {}", *change.rank);
    if (!change.node.empty()) line += (line.empty() ? "node " : " on ") + change.node;
    if (change.what == "slow")
        line += change.to == "ok" ? ": not slow any more" : ": slow, " + change.text;
    else
        line += ": " + change.to;
    if (!change.from.empty() && change.what != "slow")
        line += fmt::format(" (was {})", change.from);
    return line;
}

Json change_json(const Change& change) {
    const auto text_or_null = [](const std::string& text) {
        return text.empty() ? Json() : Json(text);
    };
    Json json{{"what", change.what},
              {"job", text_or_null(change.job)},
              {"rank", nullptr},
              {"node", text_or_null(change.node)},
              {"from", text_or_null(change.from)},
              {"to", change.to},
              {"text", change_line(change)}};
    if (change.rank) json["rank"] = *change.rank;
    return json;
}

}  // namespace pace::pacectl
