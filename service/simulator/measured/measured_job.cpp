#include "service/simulator/measured/measured_job.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "service/pacectl/columns/nearest.h"
#include "service/simulator/files/cluster_file.h"
#include "service/simulator/measured/job_options_of.h"
#include "service/simulator/measured/status_fields.h"

namespace pace::simulator {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr int kDepthMax = 16;             // of nested lists and objects; the document has 7
constexpr double kStepMsMax = 3'600'000;  // the limit of [step]
constexpr double kLatencyMaxUs = 1e6;     // the limit of [network]
constexpr double kNsPerByteMax = 1e6;
constexpr uint64_t kNumberMax = INT64_MAX;
constexpr size_t kJobsNamed = 10;

// Names are letters, digits and a few signs, but a document may contain anything.
std::string fit(std::string_view name) {
    std::string text(name.substr(0, 63));
    for (char& letter : text)
        if (letter < ' ' || letter > '~') letter = '?';
    return text;
}

Result<Json> parse(std::string_view document, std::string_view source) {
    if (document.size() > kStatusBytesMax)
        return make_error(ErrorKind::limit, "{} has more than {} MiB; a status document is smaller",
                          source, kStatusBytesMax >> 20U);
    const auto take = [](int depth, Json::parse_event_t, const Json&) {
        return depth <= kDepthMax;
    };
    Json json = Json::parse(document, take, false);
    const bool is_status = json.is_object() && json.contains("jobs") && json.contains("nodes");
    if (!is_status)
        return make_error(ErrorKind::invalid,
                          "{} is not what `pacectl status --json` prints: an object with jobs and "
                          "nodes",
                          source);
    return json;
}

Result<StatusFields> find_job(const StatusFields& status, std::string_view source,
                              std::string_view wanted) {
    PACE_TRY_ASSIGN(jobs, status.objects("jobs"));
    std::vector<std::string> names;
    for (const StatusFields& job : jobs) {
        PACE_TRY_ASSIGN(name, job.text("name"));
        if (name == wanted) return job;
        names.push_back(fit(name));
    }
    if (names.empty())
        return make_error(ErrorKind::not_found, "there is no job '{}': {} has no jobs", wanted,
                          source);
    std::string all;
    for (size_t i = 0; i < std::min(names.size(), kJobsNamed); ++i)
        all += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kJobsNamed) all += fmt::format(" and {} more", names.size() - kJobsNamed);
    const std::string meant = pacectl::meant_text(wanted, names);
    return make_error(ErrorKind::not_found, "there is no job '{}'{} {} {}", wanted,
                      meant.empty() ? "." : meant,
                      names.size() == 1 ? "The only one is" : "The jobs are", all);
}

Result<double> median_of(const StatusFields& worker, std::string_view key) {
    PACE_TRY_ASSIGN(spent, worker.object(key));
    return spent.number("median_ms", kStepMsMax, 0);
}

Result<MeasuredWorker> read_worker(const StatusFields& fields) {
    PACE_TRY_ASSIGN(rank, fields.whole("rank", kWorkersMax));
    PACE_TRY_ASSIGN(node, fields.whole("node", kNumberMax));
    PACE_TRY_ASSIGN(step, fields.number("step_median_ms", kStepMsMax));
    PACE_TRY_ASSIGN(last, fields.number("step_last_ms", kStepMsMax));
    PACE_TRY_ASSIGN(waited, median_of(fields, "waited"));
    PACE_TRY_ASSIGN(exchanged, median_of(fields, "exchanged"));
    return MeasuredWorker{rank, node, step, last, waited, exchanged};
}

Result<> read_workers(const StatusFields& job, MeasuredJob& ret_job) {
    PACE_TRY_ASSIGN(all, job.objects("workers"));
    std::set<uint64_t> ranks;
    for (const StatusFields& fields : all) {
        PACE_TRY_ASSIGN(status, fields.text("status"));
        if (status == "left" || status == "lost" || status == "missing") continue;
        PACE_TRY_ASSIGN(worker, read_worker(fields));
        if (!ranks.insert(worker.rank).second)
            return fields.error("rank", "an earlier worker has it already");
        ret_job.workers.push_back(worker);
    }
    PACE_TRY_ASSIGN(left_out, job.whole("workers_left_out", kNumberMax, 0));
    ret_job.workers_left_out = left_out;
    std::sort(ret_job.workers.begin(), ret_job.workers.end(), [](const auto& a, const auto& b) {
        return std::pair(a.node, a.rank) < std::pair(b.node, b.rank);
    });
    return {};
}

// The zones that links have shown, for nodes whose operator has not named one.
Result<std::map<uint64_t, std::string>> found_zones(const StatusFields& job) {
    std::map<uint64_t, std::string> zone_of;
    PACE_TRY_ASSIGN(zones, job.objects("zones"));
    for (const StatusFields& zone : zones) {
        PACE_TRY_ASSIGN(number, zone.whole("zone", kNumberMax));
        PACE_TRY_ASSIGN(nodes, zone.wholes("nodes", kNumberMax));
        for (const uint64_t node : nodes) zone_of[node] = fmt::format("zone-{}", number);
    }
    return zone_of;
}

Result<> read_nodes(const StatusFields& status, const StatusFields& job, MeasuredJob& ret_job) {
    PACE_TRY_ASSIGN(zone_of, found_zones(job));
    std::map<uint64_t, MeasuredNode> known;
    PACE_TRY_ASSIGN(all, status.objects("nodes"));
    for (const StatusFields& fields : all) {
        PACE_TRY_ASSIGN(number, fields.whole("node", kNumberMax));
        PACE_TRY_ASSIGN(host, fields.text("host", ""));
        PACE_TRY_ASSIGN(zone, fields.text("zone", ""));
        // Words that a file cannot have are dropped. The zones also have numbers.
        if (host != fit(host)) host.clear();
        if (zone != fit(zone)) zone.clear();
        known[number] = {number, host, zone};
    }
    for (const MeasuredWorker& worker : ret_job.workers) {
        if (!ret_job.nodes.empty() && ret_job.nodes.back().node == worker.node) continue;
        MeasuredNode node = known[worker.node];
        node.node = worker.node;
        if (node.zone.empty()) node.zone = zone_of[worker.node];
        ret_job.nodes.push_back(node);
    }
    return {};
}

Result<> read_links(const StatusFields& status, MeasuredJob& ret_job) {
    std::set<uint64_t> own;
    for (const MeasuredNode& node : ret_job.nodes) own.insert(node.node);
    PACE_TRY_ASSIGN(all, status.objects("links"));
    for (const StatusFields& fields : all) {
        PACE_TRY_ASSIGN(from, fields.whole("from", kNumberMax));
        PACE_TRY_ASSIGN(to, fields.whole("to", kNumberMax));
        PACE_TRY_ASSIGN(latency, fields.number("latency_us", kLatencyMaxUs));
        PACE_TRY_ASSIGN(byte, fields.number("ns_per_byte", kNsPerByteMax));
        if (from != to && own.contains(from) && own.contains(to))
            ret_job.links.push_back({from, to, latency, byte});
    }
    return {};
}

Result<> read_groups(const StatusFields& job, MeasuredJob& ret_job) {
    PACE_TRY_ASSIGN(all, job.objects("recent_groups"));
    for (const StatusFields& fields : all) {
        PACE_TRY_ASSIGN(state, fields.text("state"));
        PACE_TRY_ASSIGN(size, fields.whole("size", kWorkersMax));
        PACE_TRY_ASSIGN(bytes, fields.whole("bytes", kNumberMax));
        PACE_TRY_ASSIGN(members, fields.objects("members"));
        if (state != "done" || members.size() != size) continue;
        MeasuredGroup group;
        std::set<uint64_t> nodes;
        for (const StatusFields& member : members) {
            PACE_TRY_ASSIGN(rank, member.whole("rank", kWorkersMax));
            PACE_TRY_ASSIGN(node, member.whole("node", kNumberMax));
            PACE_TRY_ASSIGN(signalled, member.whole("signalled_us", kNumberMax, 0));
            PACE_TRY_ASSIGN(ended, member.whole("ended_us", kNumberMax, 0));
            nodes.insert(node);
            group.turns.push_back({rank, signalled, ended});
        }
        group.bytes = bytes;
        group.nodes = nodes.size();
        ret_job.groups.push_back(std::move(group));
    }
    return {};
}

}  // namespace

Result<MeasuredJob> read_measured_job(std::string_view document, std::string_view source,
                                      std::string_view job) {
    PACE_TRY_ASSIGN(json, parse(document, source));
    const StatusFields status(json, std::string(source) + ": status");
    PACE_TRY_ASSIGN(fields, find_job(status, source, job));
    MeasuredJob measured;
    measured.name = fit(job);
    PACE_TRY_ASSIGN(asked, fields.object("options"));
    PACE_TRY_ASSIGN(options, job_options_of(asked));
    measured.options = options;
    PACE_TRY(read_workers(fields, measured));
    PACE_TRY(read_nodes(status, fields, measured));
    PACE_TRY(read_links(status, measured));
    PACE_TRY(read_groups(fields, measured));
    return measured;
}

}  // namespace pace::simulator
