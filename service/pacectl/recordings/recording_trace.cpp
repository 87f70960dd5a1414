#include "service/pacectl/recordings/recording_trace.h"

#include <algorithm>
#include <utility>

#include "service/pacectl/recordings/recording_events.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// Processes of one node's part of a trace: its daemon, and its jobs.
constexpr uint64_t kProcessesMax = 100'000;

}  // namespace

Result<> RecordingTrace::add(const Json& document) {
    const Json& made = member(member(document, "otherData"), "recording");
    const bool is_trace = made.is_object();
    const Json& about = is_trace ? made : document;
    if (member(member(document, "otherData"), "recordings").is_array())
        return make_error(ErrorKind::invalid,
                          "it is merged already; merge the files that it was made of");
    if (count(about, "recording") != 1 || !member(about, "clock").is_object())
        return make_error(ErrorKind::invalid,
                          "it is neither a recording of a daemon nor a trace of `pacectl record`");
    Part part;
    part.node = text(about, "node");
    part.clock = clock_of_recording(about);
    for (const char* key : {"recording", "node", "version", "reason", "clock", "written"})
        part.about[key] = member(about, key);
    part.events = is_trace ? list(document, "traceEvents") : recording_events(document);
    parts_.push_back(std::move(part));
    return {};
}

bool RecordingTrace::is_exact() const {
    return parts_.size() <= 1 || std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
               return part.clock.to_controller_us.has_value();
           });
}

size_t RecordingTrace::events() const {
    size_t all = 0;
    for (const Part& part : parts_)
        all += static_cast<size_t>(
            std::count_if(part.events.begin(), part.events.end(),
                          [](const Json& event) { return text(event, "ph") != "M"; }));
    return all;
}

// One alone keeps its own time, so that it can be merged with others later.
double RecordingTrace::shift_us(const Part& part) const {
    if (parts_.size() <= 1) return 0;
    return static_cast<double>(is_exact() ? *part.clock.to_controller_us : part.clock.to_unix_us);
}

Json RecordingTrace::chrome() const {
    Json events = Json::array();
    Json abouts = Json::array();
    for (size_t i = 0; i < parts_.size(); ++i) {
        abouts.push_back(parts_[i].about);
        for (Json event : parts_[i].events) {
            if (!event.is_object()) continue;
            event["pid"] = std::min(count(event, "pid"), kProcessesMax - 1) + i * kProcessesMax;
            if (event.contains("ts")) event["ts"] = number(event, "ts") + shift_us(parts_[i]);
            events.push_back(std::move(event));
        }
    }
    Json other;
    if (parts_.size() == 1) {
        other["recording"] = abouts.front();
    } else {
        other["recordings"] = std::move(abouts);
        other["clock"] = is_exact() ? "the controller's" : "the hosts' wall clocks";
    }
    return {{"displayTimeUnit", "ms"}, {"otherData", other}, {"traceEvents", std::move(events)}};
}

}  // namespace pace::pacectl
