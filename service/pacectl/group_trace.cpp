#include "service/pacectl/group_trace.h"

#include <algorithm>
#include <utility>

namespace pace::pacectl {

namespace {

constexpr size_t kNamedMax = 64;  // members that an event names; their number it always tells

// The tracks of a trace: processes are numbered in the order of their job and node.
class Tracks {
  public:
    struct Event {
        uint64_t begin_us = 0;
        uint64_t end_us = 0;
        std::string name;
        Json arguments;
    };

    void add(const std::string& job, uint64_t node, uint64_t rank, Event event) {
        event.end_us = std::max(event.begin_us, event.end_us);
        events_[{job, node}][rank].push_back(std::move(event));
    }

    Json to_json(const std::map<uint64_t, std::string>& nodes) {
        Json events = Json::array();
        uint64_t process = 0;
        for (auto& [place, ranks] : events_) {
            ++process;
            const auto& [job, node] = place;
            const auto name = nodes.find(node);
            const std::string host =
                name == nodes.end() ? fmt::format("node {}", node) : name->second;
            events.push_back(named(process, "process_name", host + ", job " + job));
            for (auto& [rank, track] : ranks) add_track(process, rank, track, events);
        }
        return events;
    }

  private:
    static Json named(uint64_t process, const char* what, const std::string& name) {
        return {{"ph", "M"}, {"name", what}, {"pid", process}, {"args", {{"name", name}}}};
    }

    // A worker that died in an exchange and came back may signal before the exchange ends: nothing
    // reaches beyond the beginning of the next.
    static void add_track(uint64_t process, uint64_t rank, std::vector<Event>& track,
                          Json& events) {
        Json thread = named(process, "thread_name", fmt::format("rank {}", rank));
        thread["tid"] = rank;
        events.push_back(std::move(thread));
        std::sort(track.begin(), track.end(), [](const Event& a, const Event& b) {
            return std::pair(a.begin_us, a.end_us) < std::pair(b.begin_us, b.end_us);
        });
        for (size_t i = 0; i < track.size(); ++i) {
            const uint64_t next = i + 1 < track.size() ? track[i + 1].begin_us : UINT64_MAX;
            events.push_back(complete(process, rank, track[i], std::min(track[i].end_us, next)));
        }
    }

    static Json complete(uint64_t process, uint64_t rank, Event& event, uint64_t end_us) {
        return {{"ph", "X"},
                {"cat", "group"},
                {"name", event.name},
                {"pid", process},
                {"tid", rank},
                {"ts", event.begin_us},
                {"dur", end_us - event.begin_us},
                {"args", std::move(event.arguments)}};
    }

    std::map<std::pair<std::string, uint64_t>, std::map<uint64_t, std::vector<Event>>> events_;
};

// A number of 64 bits is not exact in every viewer: text.
Json arguments_of(const Json& group) {
    Json arguments{{"group", text(group, "group")},  {"state", text(group, "state")},
                   {"size", count(group, "size")},   {"iteration", count(group, "iteration")},
                   {"bytes", count(group, "bytes")}, {"moving_ms", number(group, "moving_ms")}};
    if (member(group, "reason").is_string()) arguments["reason"] = text(group, "reason");
    Json& members = arguments["members"] = Json::array();
    for (const Json& member : list(group, "members")) {
        if (members.size() == kNamedMax) break;
        members.push_back(count(member, "rank"));
    }
    return arguments;
}

void add_group(const std::string& job, const Json& group, uint64_t clock_us, Tracks& tracks) {
    const bool failed = text(group, "state") == "failed";
    const uint64_t ordered = count(group, "ordered_us");
    const Json of_all = arguments_of(group);
    for (const Json& member : list(group, "members")) {
        const uint64_t signalled = count(member, "signalled_us");
        if (signalled == 0) continue;  // of a controller that does not tell times
        const uint64_t node = count(member, "node");
        const uint64_t rank = count(member, "rank");
        tracks.add(job, node, rank, {signalled, ordered, "waiting", {{"group", of_all["group"]}}});
        Json arguments = of_all;
        arguments["own_iteration"] = count(member, "iteration");
        arguments["weight"] = number(member, "weight");
        const uint64_t ended = count(member, "ended_us");
        tracks.add(job, node, rank,
                   {ordered, ended == 0 ? clock_us : ended, failed ? "failed" : "exchanging",
                    std::move(arguments)});
    }
}

}  // namespace

void GroupTrace::add(const Json& status) {
    clock_us_ = count(status, "clock_us");
    waits_.clear();
    for (const Json& node : list(status, "nodes")) nodes_[count(node, "node")] = text(node, "name");
    for (const Json& job : list(status, "jobs")) {
        const std::string name = text(job, "name");
        if (!only_.empty() && name != only_) continue;
        if (!member(job, "recent_groups").is_array()) continue;
        for (const Json& group : list(job, "recent_groups"))
            groups_[count(group, "group")] = {name, group};
        ordered_[name] = count(job, "groups_ordered");
        add_waits(job);
    }
    while (groups_.size() > groups_max_) groups_.erase(groups_.begin());
}

void GroupTrace::add_waits(const Json& job) {
    for (const Json& worker : list(job, "workers")) {
        const double waiting_us = number(worker, "waiting_ms", -1) * 1000;
        if (waiting_us < 0 || waiting_us > static_cast<double>(clock_us_)) continue;
        waits_.push_back({text(job, "name"), count(worker, "rank"), count(worker, "node"),
                          clock_us_ - static_cast<uint64_t>(waiting_us)});
    }
}

Json GroupTrace::chrome() const {
    Tracks tracks;
    for (const auto& [id, group] : groups_) add_group(group.job, group.record, clock_us_, tracks);
    for (const Wait& wait : waits_)
        tracks.add(wait.job, wait.node, wait.rank,
                   {wait.since_us, clock_us_, "waiting", {{"group", "none yet"}}});
    return {{"displayTimeUnit", "ms"},
            {"otherData", {{"groups", groups_.size()}, {"groups_ordered", ordered_}}},
            {"traceEvents", tracks.to_json(nodes_)}};
}

}  // namespace pace::pacectl
