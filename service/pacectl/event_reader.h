// EventReader: the events of one status document after another, each once. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/pacectl/document.h"

namespace pace::pacectl {

// What a document has that the ones before had not.
struct NewEvents {
    std::vector<Json> events;  // the job's alone if one is named; in the order of their numbers
    // The controller kept so many events that none of these could be read: 0 to 0 if none is missing.
    uint64_t dropped_first = 0;
    uint64_t dropped_last = 0;
    bool is_restarted =
        false;  // another controller counts from the start: these are its first ones
};

class EventReader {
  public:
    // `since`: those up to this number are known already; without it, all that are kept are new.
    EventReader(std::optional<uint64_t> since, std::string job);

    NewEvents read(const Json& status);

  private:
    bool is_of_another_controller(const Json& status) const;

    std::optional<uint64_t> last_;
    uint64_t last_at_unix_ms_ = 0;  // 0: it was not read
    std::string job_;
};

// Whether the controller tells of events at all; an older one does not.
bool has_events(const Json& status);

// One line: time, number, severity, kind, whom it is about, and what happened.
std::string event_line(const Json& event);

}  // namespace pace::pacectl
