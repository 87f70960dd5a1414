#include "service/pacectl/recordings/recording_events.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "service/pacectl/recordings/recording_rows.h"

namespace pace::pacectl {

namespace {

struct Bar {
    double begin_us = 0;
    double end_us = 0;
    std::string name;
    Json arguments;
};

// The tracks of one process of the trace. Bars of one track that overlap go side by side.
class Tracks {
  public:
    void add(const std::string& track, Bar bar) { bars_[track].push_back(std::move(bar)); }
    void point(const std::string& track, double at_us, const std::string& name, Json arguments) {
        points_[track].push_back({at_us, at_us, name, std::move(arguments)});
    }

    void append_to(Json& events, uint64_t process, const std::string& name) {
        events.push_back(named("process_name", process, 0, name));
        uint64_t thread = 0;
        for (auto& [track, points] : points_) bars_[track];
        for (auto& [track, bars] : bars_) {
            const uint64_t first = thread + 1;
            thread += lay(bars, events, process, first);
            for (uint64_t lane = first; lane <= thread; ++lane)
                events.push_back(named("thread_name", process, lane, track));
            for (Bar& point : points_[track]) events.push_back(event("i", process, first, point));
        }
    }

  private:
    static Json named(const char* what, uint64_t process, uint64_t thread,
                      const std::string& name) {
        return {{"ph", "M"},
                {"name", what},
                {"pid", process},
                {"tid", thread},
                {"args", {{"name", name}}}};
    }
    static Json event(const char* phase, uint64_t process, uint64_t thread, Bar& bar) {
        Json event = {{"ph", phase},   {"name", bar.name},   {"pid", process},
                      {"tid", thread}, {"ts", bar.begin_us}, {"args", std::move(bar.arguments)}};
        if (*phase == 'X')
            event["dur"] = bar.end_us - bar.begin_us;
        else
            event["s"] = "t";
        return event;
    }
    // Each bar into the first lane that is free by then. Returns how many lanes there are, at least
    // one.
    static uint64_t lay(std::vector<Bar>& bars, Json& events, uint64_t process, uint64_t first) {
        std::stable_sort(bars.begin(), bars.end(), [](const Bar& one, const Bar& other) {
            return one.begin_us < other.begin_us;
        });
        std::vector<double> free_from(1, 0.0);
        for (Bar& bar : bars) {
            const auto lane = std::find_if(free_from.begin(), free_from.end(),
                                           [&bar](double from) { return from <= bar.begin_us; });
            const auto index = static_cast<uint64_t>(lane - free_from.begin());
            if (lane == free_from.end()) free_from.push_back(0);
            free_from[index] = bar.end_us;
            events.push_back(event("X", process, first + index, bar));
        }
        return free_from.size();
    }

    std::map<std::string, std::vector<Bar>> bars_;
    std::map<std::string, std::vector<Bar>> points_;
};

// Makes tracks of rows, one after the other.
class Events {
  public:
    explicit Events(const Json& recording)
        : jobs_(member(recording, "jobs")), nodes_(member(recording, "nodes")) {}

    void add(const RecordingRow& row);
    Json finish(const std::string& node);

  private:
    // Job, rank or word, number.
    using Key = std::tuple<uint64_t, std::string, uint64_t>;

    static std::string rank_track(const RecordingRow& row) {
        return fmt::format("rank {:4}", row.count("rank"));
    }
    Tracks& job_of(const RecordingRow& row) { return of_jobs_[name_in(jobs_, row.count("job"))]; }
    bool add_call(const RecordingRow& row, const std::string& kind);
    bool add_exchange(const RecordingRow& row, const std::string& kind);
    bool add_of_job(const RecordingRow& row, const std::string& kind);
    bool add_of_daemon(const RecordingRow& row, const std::string& kind);
    void end(std::map<Key, Bar>& open, const Key& key, const RecordingRow& row,
             const std::string& track, const Json& more);

    const Json& jobs_;
    const Json& nodes_;
    std::map<std::string, Tracks> of_jobs_;
    Tracks of_daemon_;
    std::map<Key, Bar> calls_;
    std::map<Key, Bar> exchanges_;
    double last_us_ = 0;
};

// What has begun before the oldest row has no begin, and is left out.
void Events::end(std::map<Key, Bar>& open, const Key& key, const RecordingRow& row,
                 const std::string& track, const Json& more) {
    const auto found = open.find(key);
    if (found == open.end()) return;
    Bar bar = std::move(found->second);
    open.erase(found);
    bar.end_us = std::max(bar.begin_us, row.at_us());
    bar.arguments.update(more);
    job_of(row).add(track, std::move(bar));
}

bool Events::add_call(const RecordingRow& row, const std::string& kind) {
    if (!kind.starts_with("call-")) return false;
    const std::string track = rank_track(row);
    const uint64_t request = row.count("number");
    const Key key{row.count("job"), track, request};
    if (kind == "call-begins")
        calls_[key] = {row.at_us(),
                       0,
                       row.text("detail"),
                       {{"request", request}, {"elements", row.count("amount")}}};
    if (kind == "call-ends")
        end(calls_, key, row, track,
            {{"outcome", row.text("detail")}, {"bytes_sent", row.count("amount")}});
    if (kind == "call-waits")
        job_of(row).point(track, row.at_us(), kind,
                          {{"request", request}, {"milliseconds", row.count("amount")}});
    return true;
}

bool Events::add_exchange(const RecordingRow& row, const std::string& kind) {
    if (!kind.starts_with("exchange-")) return false;
    const std::string word = row.text("detail");
    const Key key{row.count("job"), word, row.count("number")};
    if (kind == "exchange-begins")
        exchanges_[key] = {row.at_us(),
                           0,
                           fmt::format("{} {}", word, row.count("number")),
                           {{"nodes", member_names(row, nodes_)}, {"of", row.count("of")}}};
    if (kind == "exchange-ends")
        end(exchanges_, key, row, "exchanges",
            {{"bytes_sent", row.count("amount")}, {"failure", row.text("failure")}});
    if (kind == "exchange-waits")
        job_of(row).point("exchanges", row.at_us(), kind,
                          {{"exchange", fmt::format("{} {}", word, row.count("number"))},
                           {"for", member_names(row, nodes_)},
                           {"milliseconds", row.count("amount")}});
    return true;
}

bool Events::add_of_job(const RecordingRow& row, const std::string& kind) {
    const bool is_worker = kind.starts_with("worker-");
    if (!is_worker && !kind.starts_with("view-") && !kind.starts_with("group-")) return false;
    Json arguments = {{"number", row.count("number")}, {"of", row.count("of")}};
    if (row.at("members").is_array()) arguments["ranks"] = row.at("members");
    if (is_worker) arguments = Json::object();
    job_of(row).point(is_worker ? rank_track(row) : "views and groups", row.at_us(), kind,
                      std::move(arguments));
    return true;
}

bool Events::add_of_daemon(const RecordingRow& row, const std::string& kind) {
    if (kind.starts_with("message-")) {
        const char* arrow = kind == "message-in" ? "from the controller: " : "to the controller: ";
        of_daemon_.point("messages", row.at_us(), arrow + row.text("detail"),
                         {{"bytes", row.count("amount")}});
    } else if (kind.starts_with("peer-")) {
        of_daemon_.point("peers", row.at_us(), kind,
                         {{"node", name_in(nodes_, row.count("node"))}});
    } else if (kind == "loop-stood-still") {
        const auto took_us = static_cast<double>(row.count("amount"));
        of_daemon_.add("event loop",
                       {std::max(0.0, row.at_us() - took_us), row.at_us(), kind, Json::object()});
    } else if (kind == "attached" || kind == "detached" || kind == "excluded") {
        of_daemon_.point("controller", row.at_us(), kind, Json::object());
    } else {
        return false;
    }
    return true;
}

void Events::add(const RecordingRow& row) {
    const std::string kind = row.text("kind");
    last_us_ = std::max(last_us_, row.at_us());
    add_call(row, kind) || add_exchange(row, kind) || add_of_job(row, kind) ||
        add_of_daemon(row, kind);
}

// What has not ended goes on to the end of the recording.
Json Events::finish(const std::string& node) {
    for (auto* open : {&calls_, &exchanges_}) {
        for (auto& [key, bar] : *open) {
            bar.end_us = std::max(bar.begin_us, last_us_);
            bar.arguments["has_ended"] = false;
            const auto& [job, track, number] = key;
            of_jobs_[name_in(jobs_, job)].add(open == &calls_ ? track : "exchanges",
                                              std::move(bar));
        }
    }
    Json events = Json::array();
    uint64_t process = 1;
    of_daemon_.append_to(events, process, node + ": daemon");
    for (auto& [job, tracks] : of_jobs_)
        tracks.append_to(events, ++process, fmt::format("{}: job {}", node, job));
    return events;
}

}  // namespace

Json recording_events(const Json& recording) {
    Events events(recording);
    for_each_row(recording, [&events](const RecordingRow& row) { events.add(row); });
    return events.finish(text(recording, "node"));
}

}  // namespace pace::pacectl
