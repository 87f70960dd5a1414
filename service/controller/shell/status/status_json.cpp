#include "service/controller/shell/status/status_json.h"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "protocol/version.h"
#include "service/controller/shell/status/events_json.h"
#include "service/controller/shell/status/json_times.h"
#include "service/controller/shell/status/nodes_json.h"
#include "service/controller/shell/status/options_json.h"
#include "service/controller/vocabulary/options.h"

namespace pace::controller {

namespace {

using Json = nlohmann::json;

constexpr size_t kWorkersMax = 1792;  // of all jobs together
constexpr size_t kSlowMax = 128;      // of those, with why they are slow
constexpr size_t kToldMax = 1024;     // and with their steps and residuals
// Members of recent groups, for all jobs together; each job has an equal share.
constexpr size_t kGroupRoom = 8192;
constexpr size_t kGroupCost = 2;  // a group's own fields take as much room as so many members
// This many bytes of a group's reason of failure count as one more member. A member's fields take
// about twice as many bytes: in JSON, each byte of the reason may become two.
constexpr size_t kReasonBytesOfOne = 64;
// The most nodes in the zones of all jobs together; each zone counts as one more node.
constexpr size_t kZoneRoom = 4096;

Json json_of(const AutoView& chosen) {
    Json json{{"policy", name_of(chosen.policy)},
              {"group_size", nullptr},
              {"reason", chosen.reason},
              {"switches", chosen.switches}};
    if (chosen.group_size != 0) json["group_size"] = chosen.group_size;
    return json;
}

// The time on the controller's monotonic clock, which is the document's clock_us.
int64_t microseconds(TimePoint time) {
    return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}

Json json_of(const TimeSpent& spent) {
    return {{"total_s", spent.total_s}, {"median_ms", milliseconds(spent.median)}};
}

Json json_of(const std::optional<ProgressSpread>& spread) {
    if (!spread) return nullptr;
    return {{"spread", spread->most - spread->least},
            {"last", {{"rank", spread->last}, {"at", spread->least}}},
            {"first", {{"rank", spread->first}, {"at", spread->most}}}};
}

Json json_of(const Slowness& slow) {
    return {{"factor", slow.factor},
            {"since_s", base::to_seconds(slow.since)},
            {"why", name_of(slow.why)},
            {"text", slow.text}};
}

Json json_of(const StepsView& steps) {
    return {{"done", steps.done},
            {"total", steps.total},
            {"left_s", steps.left_s ? Json(*steps.left_s) : Json(nullptr)}};
}

Json json_of(const KeptResidual& residual) {
    return {{"bytes", residual.bytes}, {"exchanges", residual.exchanges}};
}

// Room that is left in the document.
struct Room {
    size_t workers = kWorkersMax;
    size_t slow = kSlowMax;
    size_t told = kToldMax;
    size_t zones = kZoneRoom;
    size_t groups_of_each = kGroupRoom;  // of each job
};

void add_told(const WorkerView& worker, Room& room, Json& json) {
    if ((!worker.steps && !worker.residual) || room.told == 0) return;
    --room.told;
    if (worker.steps) json["steps"] = json_of(*worker.steps);
    if (worker.residual) json["residual"] = json_of(*worker.residual);
}

Json json_of(const WorkerView& worker, Room& room) {
    Json json{{"rank", worker.rank},
              {"node", worker.node},
              {"status", name_of(worker.status)},
              {"iteration", worker.iteration},
              {"rounds_submitted", worker.rounds_submitted},
              {"step_last_ms", milliseconds(worker.step_last)},
              {"step_median_ms", milliseconds(worker.step_median)},
              {"exchanging", worker.exchanging}};
    // JSON has no infinity or NaN: they become null.
    if (worker.loss) json["loss"] = *worker.loss;
    if (worker.samples_per_s > 0) json["samples_per_s"] = worker.samples_per_s;
    add_told(worker, room, json);
    if (worker.waiting) json["waiting_ms"] = milliseconds(*worker.waiting);
    json["computed"] = json_of(worker.computed);
    json["waited"] = json_of(worker.waited);
    json["exchanged"] = json_of(worker.exchanged);
    const bool is_known = worker.doing != Doing::nothing;
    json["activity"] = is_known ? Json(name_of(worker.doing)) : Json(nullptr);
    json["activity_s"] = is_known ? Json(base::to_seconds(worker.doing_for)) : Json(nullptr);
    json["slow"] = nullptr;
    if (worker.slow && room.slow > 0) {
        json["slow"] = json_of(*worker.slow);
        --room.slow;
    }
    return json;
}

// There are thousands of groups and members, and the controller decides nothing meanwhile. Their
// fields are assigned one by one, since a braced list is built several times.
Json json_of(const Part& part, const GroupRecord::Times& times) {
    Json json = Json::object();
    json["rank"] = part.rank;
    json["node"] = part.node;
    json["iteration"] = part.iteration;
    json["weight"] = part.weight;
    json["signalled_us"] = microseconds(times.signalled);
    if (times.ended) json["ended_us"] = microseconds(*times.ended);
    return json;
}

// Lists the group's first `listed` members.
Json json_of(const GroupRecord& group, TimePoint now, size_t listed) {
    Json json = Json::object();
    json["group"] = group.order.group;
    json["epoch"] = group.order.epoch;
    json["iteration"] = group.order.iteration;
    json["ordered_ms_ago"] = milliseconds(now - group.ordered);
    json["ordered_us"] = microseconds(group.ordered);
    json["state"] = group.failed ? "failed" : group.done ? "done" : "moving";
    if (group.failed && !group.reason.empty()) json["reason"] = group.reason;
    json["moving_ms"] = static_cast<double>(group.moving_ns) / 1e6;
    json["bytes"] = group.bytes;
    json["size"] = group.order.members.size();
    std::vector<Json> members;
    members.reserve(listed);
    for (size_t i = 0; i < listed; ++i)
        members.push_back(json_of(group.order.members[i], group.times[i]));
    json["members"] = std::move(members);
    return json;
}

// Bucket b counts members that are 2^(b-1) .. 2^b - 1 iterations stale; empty buckets are left out.
Json json_of(const GroupHistory::Staleness& staleness) {
    Json buckets = Json::array();
    for (size_t bucket = 0; bucket < staleness.size(); ++bucket) {
        if (staleness[bucket] == 0) continue;
        const uint64_t least = bucket == 0 ? 0 : uint64_t{1} << (bucket - 1);
        const uint64_t most = (uint64_t{1} << bucket) - 1;
        buckets.push_back({{"from", least}, {"to", most}, {"members", staleness[bucket]}});
    }
    return buckets;
}

size_t cost_without_members(const GroupRecord& group) {
    return kGroupCost + group.reason.size() / kReasonBytesOfOne;
}

// Adds the latest groups for which there is room, oldest first. The oldest listed group may lack
// some of its members.
void add_recent_groups(const JobView& job, TimePoint now, size_t room, Json& json) {
    std::vector<Json> latest;
    for (auto group = job.recent_groups.rbegin(); group != job.recent_groups.rend(); ++group) {
        const size_t cost = cost_without_members(*group);
        if (room <= cost) break;
        const size_t listed = std::min(group->times.size(), room - cost);
        latest.push_back(json_of(*group, now, listed));
        room -= cost + listed;
    }
    json["recent_groups_left_out"] = job.recent_groups.size() - latest.size();
    std::reverse(latest.begin(), latest.end());
    json["recent_groups"] = std::move(latest);
}

// Adds the fields of policies that form groups. For static groups only the ended groups are known,
// and no member iterations.
void add_forming(const JobView& job, Json& json) {
    json.update({{"group_wait_ms", milliseconds(job.group_wait)},
                 {"holding", job.holding},
                 {"groups_in_flight", job.groups_in_flight},
                 {"groups_failed", job.groups_failed},
                 {"bridged_groups", job.bridged_groups},
                 {"conflicts", job.conflicts},
                 {"staleness", json_of(job.staleness)}});
}

void add_groups(const JobView& job, TimePoint now, size_t room, Json& json) {
    json.update({{"sync_components", job.sync_components},
                 {"groups_ordered", job.groups_ordered},
                 {"groups_completed", job.groups_completed},
                 {"waited", json_of(job.waited)},
                 {"exchanged", json_of(job.exchanged)},
                 {"spectral_gap", job.spectral_gap}});
    if (forms_groups(job.options.policy)) add_forming(job, json);
    if (job.automatic) json["auto"] = json_of(*job.automatic);
    add_recent_groups(job, now, room, json);
}

// Nodes near each other: as the operator says, or else as measured by their links.
Json json_of(const ZoneView& zone) {
    Json json{{"zone", zone.zone}, {"nodes", zone.nodes}};
    if (!zone.label.empty()) json["label"] = zone.label;
    return json;
}

void add_zones(const JobView& job, Room& room, Json& json) {
    size_t left_out = 0;
    Json& zones = json["zones"] = Json::array();
    for (const ZoneView& zone : job.zones) {
        const size_t cost = zone.nodes.size() + 1;
        if (cost > room.zones) {
            ++left_out;
            continue;
        }
        room.zones -= cost;
        zones.push_back(json_of(zone));
    }
    json["zones_left_out"] = left_out;
}

Json checkpoint_of(const ModelView& model, TimePoint now) {
    Json json = Json::object();
    if (model.checkpoint)
        json.update({{"position", model.checkpoint->position},
                     {"age_s", base::to_seconds(now - model.checkpoint->when)}});
    if (!model.checkpoint_failure.empty()) json["failure"] = model.checkpoint_failure;
    return json;
}

// [rank, seconds], longest first.
Json waited_by(const ModelView& model) {
    constexpr size_t kListed = 64;
    std::vector<std::pair<double, Rank>> waits;
    for (const auto& [rank, seconds] : model.statistics.waited_by)
        waits.emplace_back(seconds, rank);
    std::sort(waits.begin(), waits.end(), std::greater<>());
    if (waits.size() > kListed) waits.resize(kListed);
    Json json = Json::array();
    for (const auto& [seconds, rank] : waits) json.push_back({rank, seconds});
    return json;
}

Json json_of(const ModelView& model, TimePoint now) {
    // Buckets up to the last non-empty one.
    const auto& staleness = model.statistics.staleness;
    size_t buckets = staleness.size();
    while (buckets > 0 && staleness[buckets - 1] == 0) --buckets;
    return {{"position", model.position},
            {"generation", model.generation},
            {"waits_for_a_node", model.waits},
            {"slowest_clock", model.slowest},
            {"fastest_clock", model.fastest},
            {"pushes", model.pushes},
            {"pulls", model.statistics.pulls},
            {"pulls_waiting", model.statistics.waiting},
            {"pulls_waited", model.statistics.waited},
            {"waited_total_s", model.statistics.waited_total_s},
            {"live_versions", model.live_versions},
            {"staleness", std::span(staleness).first(buckets)},
            {"waited_by_s", waited_by(model)},
            {"shards", model.places},
            {"checkpoint", checkpoint_of(model, now)}};
}

// Lists the first ranks of each.
Json json_of(const WaitView& wait) {
    static constexpr size_t kListed = 16;
    const auto first = [](const std::vector<Rank>& ranks) {
        return std::span(ranks).first(std::min(ranks.size(), kListed));
    };
    Json json{{"what", wait.what},
              {"ranks", first(wait.waiting)},
              {"for", first(wait.missing)},
              {"ranks_left_out", wait.waiting.size() - first(wait.waiting).size()},
              {"for_left_out", wait.missing.size() - first(wait.missing).size()}};
    if (wait.waited) json["waited_ms"] = milliseconds(*wait.waited);
    return json;
}

Json waits_of(const JobView& job) {
    constexpr size_t kListed = 64;
    Json json = Json::array();
    for (size_t i = 0; i < std::min(job.waits.size(), kListed); ++i)
        json.push_back(json_of(job.waits[i]));
    return json;
}

Json json_of(const JobView& job, TimePoint now, Room& room) {
    const bool in_groups = family_of(job.options.policy) == Family::averaging;
    Json json{{"job", job.job},
              {"name", job.options.name},
              {"options", options_json(job.options)},
              {"uid", job.uid},
              {"run", {{"id", job.run.id}, {"began_ns", job.run.began}}},
              {"epoch", job.epoch},
              {"base_round", job.base_round},
              {"started", job.started},
              {"state", name_of(job.stage)},
              {"finished_s", nullptr},
              {"steps", job.steps ? json_of(*job.steps) : Json(nullptr)},
              {"residual", job.residual ? json_of(*job.residual) : Json(nullptr)},
              {"changing_view", job.changing_view},
              {"gathering", job.gathering},
              {"left_out", job.left_out},
              {"waits", waits_of(job)},
              {"step_median_ms", milliseconds(job.step_median)},
              {"slowest", nullptr},
              {"progress", json_of(job.progress)}};
    add_zones(job, room, json);
    if (job.stage == JobStage::finished) json["finished_s"] = base::to_seconds(job.finished_for);
    if (job.slow) json["slowest"] = {{"rank", job.slow->rank}, {"factor", job.slow->factor}};
    const size_t listed = std::min(job.workers.size(), room.workers);
    room.workers -= listed;
    Json& workers = json["workers"] = Json::array();
    for (const WorkerView& worker : std::span(job.workers).first(listed))
        workers.push_back(json_of(worker, room));
    json["workers_left_out"] = job.workers.size() - listed;
    if (in_groups) add_groups(job, now, room.groups_of_each, json);
    if (job.model) json["model"] = json_of(*job.model, now);
    return json;
}

Json journal_of(const ShellView& shell) {
    if (shell.journal_path.empty()) return {{"state", "none"}};
    Json json{{"state", shell.journal.failure ? "failed" : "writing"},
              {"path", shell.journal_path},
              {"bytes", shell.journal.bytes},
              {"records", shell.journal.records},
              {"waiting", shell.journal.waiting}};
    if (shell.journal.failure) json["failure"] = shell.journal.failure->message;
    return json;
}

}  // namespace

std::string status_json(const StatusView& view, const ShellView& shell, TimePoint now) {
    Json json{{"version", PACE_VERSION},
              {"protocol", protocol::kVersion},
              {"clock_us", microseconds(now)},
              {"unix_ms", shell.unix_ms},
              {"listening", shell.endpoints},
              {"curve", shell.curve},
              {"heartbeat_ms", shell.heartbeat_ms},
              {"seed", shell.seed},
              {"journal", journal_of(shell)},
              {"messages",
               {{"received", shell.counters.received},
                {"sent", shell.counters.sent},
                {"malformed", shell.counters.malformed},
                {"unattached", shell.counters.unattached},
                {"refused", shell.counters.refused},
                {"undeliverable", shell.counters.undeliverable}}},
              {"counters",
               {{"signals", view.counters.signals},
                {"groups", view.counters.groups},
                {"bridged_groups", view.counters.bridged_groups},
                {"views", view.counters.views}}}};
    add_nodes(view, json);
    Room room;
    room.groups_of_each /= std::max<size_t>(view.jobs.size(), 1);
    Json& jobs = json["jobs"] = Json::array();
    for (const JobView& job : view.jobs) jobs.push_back(json_of(job, now, room));
    // Bytes that are not UTF-8 are replaced instead of causing an exception.
    if (shell.events != nullptr) add_events(*shell.events, json);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pace::controller
