#include "service/pacectl/spans/span_events.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace pace::pacectl {

namespace {

// The spans of one lane of one rank.
using SpansOfLane = std::vector<const Span*>;
using SpansOfProcess = std::map<std::pair<uint64_t, uint64_t>, SpansOfLane>;

Json name_event(uint64_t process, const char* what, const std::string& name) {
    return {{"ph", "M"}, {"name", what}, {"pid", process}, {"args", {{"name", name}}}};
}

Json complete_event(uint64_t process, uint64_t thread, const Span& span) {
    return {{"ph", "X"},
            {"cat", span.category},
            {"name", span.name},
            {"pid", process},
            {"tid", thread},
            {"ts", span.begin_us},
            {"dur", span.end_us - std::min(span.begin_us, span.end_us)},
            {"args", span.arguments}};
}

// The first lane of a rank is the thread with the rank's number; further lanes come after all of
// them.
void append_process(uint64_t process, const SpansOfProcess& lanes, Json& ret_events) {
    uint64_t thread_after = lanes.rbegin()->first.first;
    for (const auto& [place, spans] : lanes) {
        const auto [rank, lane] = place;
        const uint64_t thread = lane == 0 ? rank : ++thread_after;
        Json named = name_event(process, "thread_name", fmt::format("rank {}", rank));
        named["tid"] = thread;
        ret_events.push_back(std::move(named));
        for (const Span* span : spans) ret_events.push_back(complete_event(process, thread, *span));
    }
}

}  // namespace

Json span_events(const std::vector<Span>& spans) {
    std::map<std::pair<std::string, std::string>, SpansOfProcess> processes;
    for (const Span& span : spans)
        processes[{span.job, span.node}][{span.rank, span.lane}].push_back(&span);
    Json events = Json::array();
    uint64_t process = 0;
    for (const auto& [place, lanes] : processes) {
        const auto& [job, node] = place;
        ++process;
        events.push_back(name_event(process, "process_name", node + ", job " + job));
        append_process(process, lanes, events);
    }
    return events;
}

}  // namespace pace::pacectl
