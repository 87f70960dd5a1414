#include "service/pacectl/recordings/event_reader.h"

#include <algorithm>
#include <utility>

#include "service/pacectl/console/local_time.h"

namespace pace::pacectl {

namespace {

// The event's subject, as far as its text does not name it.
std::string about_text(const Json& event) {
    const std::string said = text(event, "text", "");
    std::string about;
    bool is_said = true;
    for (const char* what : {"job", "rank", "node"}) {
        const std::string value = text(event, what, "");
        if (value.empty()) continue;
        about += fmt::format("{}{} {}", about.empty() ? "" : " ", what, value);
        is_said = is_said && said.find(value) != std::string::npos;
    }
    return is_said ? std::string() : about + ": ";
}

}  // namespace

EventReader::EventReader(std::optional<uint64_t> since, std::string job)
    : last_(since), job_(std::move(job)) {}

// The controller is another one if its numbers are smaller, or if the number read last now belongs
// to another event.
bool EventReader::is_of_another_controller(const Json& status) const {
    if (!last_ || last_at_unix_ms_ == 0) return false;
    uint64_t newest = 0;
    for (const Json& event : list(status, "events")) {
        const uint64_t event_number = count(event, "number");
        newest = std::max(newest, event_number);
        if (event_number == *last_) return count(event, "at_unix_ms") != last_at_unix_ms_;
    }
    return newest < *last_;
}

NewEvents EventReader::read(const Json& status) {
    NewEvents found;
    if (!has_events(status)) return found;
    found.is_restarted = is_of_another_controller(status);
    if (found.is_restarted) last_ = 0;
    const uint64_t first_kept = count(status, "events_first");
    if (last_ && first_kept > *last_ + 1) {
        found.dropped_first = *last_ + 1;
        found.dropped_last = first_kept - 1;
    }
    for (const Json& event : list(status, "events")) {
        const uint64_t event_number = count(event, "number");
        if (last_ && event_number <= *last_) continue;
        last_ = event_number;
        last_at_unix_ms_ = count(event, "at_unix_ms");
        if (job_.empty() || text(event, "job", "") == job_) found.events.push_back(event);
    }
    // Report dropped events only once.
    if (found.dropped_last > 0) last_ = std::max(*last_, found.dropped_last);
    return found;
}

bool has_events(const Json& status) {
    return member(status, "events").is_array();
}

std::string event_line(const Json& event) {
    return fmt::format("{}  {:>6}  {:<7}  {:<18}  {}{}\n",
                       local_time_text(count(event, "at_unix_ms")), text(event, "number"),
                       text(event, "severity"), text(event, "kind"), about_text(event),
                       text(event, "text", ""));
}

}  // namespace pace::pacectl
