#include "service/pacectl/spans/group_trace.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pace::pacectl {

namespace {

constexpr size_t kNamedMax = 64;  // members that an event names; their number it always tells

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

// A worker that died in an exchange and came back may signal before the exchange ends: no span
// reaches beyond the beginning of the next one.
void make_disjoint(std::vector<Span>& track) {
    std::sort(track.begin(), track.end(), [](const Span& one, const Span& other) {
        return std::pair(one.begin_us, one.end_us) < std::pair(other.begin_us, other.end_us);
    });
    for (size_t i = 0; i + 1 < track.size(); ++i)
        track[i].end_us = std::min(track[i].end_us, track[i + 1].begin_us);
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
            groups_[count(group, "group")] = {name, count(member(job, "run"), "began_ns"), group};
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

std::string GroupTrace::node_name(uint64_t node) const {
    const auto name = nodes_.find(node);
    return name == nodes_.end() ? fmt::format("node {}", node) : name->second;
}

void GroupTrace::add_span(uint64_t node, Span span, Tracks& ret_tracks) const {
    span.node = node_name(node);
    span.category = "group";
    span.end_us = std::max(span.begin_us, span.end_us);
    Track& track = ret_tracks[{span.job, node, span.rank}];
    track.push_back(std::move(span));
}

void GroupTrace::add_group(const Group& group, Tracks& ret_tracks) const {
    const Json& record = group.record;
    const bool failed = text(record, "state") == "failed";
    const uint64_t ordered = count(record, "ordered_us");
    const Json of_all = arguments_of(record);
    for (const Json& member : list(record, "members")) {
        const uint64_t signalled = count(member, "signalled_us");
        if (signalled == 0) continue;  // of a controller that does not tell times
        Span span;
        span.job = group.job;
        span.run = group.run;
        span.rank = count(member, "rank");
        span.exchange = "group " + text(record, "group");
        span.step = fmt::format("{}, signalled at {}", span.exchange, signalled);
        Span waiting = span;
        waiting.name = "waiting";
        waiting.begin_us = signalled;
        waiting.end_us = ordered;
        waiting.arguments = {{"group", of_all["group"]}};
        const uint64_t ended = count(member, "ended_us");
        span.has_ended = ended != 0;
        span.name = failed ? "failed" : "exchanging";
        span.begin_us = ordered;
        span.end_us = ended == 0 ? clock_us_ : ended;
        span.arguments = of_all;
        span.arguments["own_iteration"] = count(member, "iteration");
        span.arguments["weight"] = number(member, "weight");
        add_span(count(member, "node"), std::move(waiting), ret_tracks);
        add_span(count(member, "node"), std::move(span), ret_tracks);
    }
}

std::vector<Span> GroupTrace::spans() const {
    Tracks tracks;
    for (const auto& [id, group] : groups_) add_group(group, tracks);
    for (const Wait& wait : waits_) {
        Span span;
        span.job = wait.job;
        span.rank = wait.rank;
        span.name = "waiting";
        span.begin_us = wait.since_us;
        span.end_us = clock_us_;
        span.has_ended = false;
        span.step = "the group to come";
        span.arguments = {{"group", "none yet"}};
        add_span(wait.node, std::move(span), tracks);
    }
    std::vector<Span> spans;
    for (auto& [place, track] : tracks) {
        make_disjoint(track);
        std::move(track.begin(), track.end(), std::back_inserter(spans));
    }
    return spans;
}

}  // namespace pace::pacectl
