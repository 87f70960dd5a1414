// EventReader: reads the events of successive status documents, each event once. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// The new events of a document.
struct NewEvents {
    std::vector<Json> events;  // of the named job, or of all; by number
    // The numbers of events that the controller had dropped before they could be read; 0 to 0 if
    // none is missing.
    uint64_t dropped_first = 0;
    uint64_t dropped_last = 0;
    // Another controller, which counts from the start; these are its first events.
    bool is_restarted = false;
};

class EventReader {
  public:
    // Events up to `since` are known already. Without `since`, all kept events are new.
    EventReader(std::optional<uint64_t> since, std::string job);

    NewEvents read(const Json& status);

  private:
    bool is_of_another_controller(const Json& status) const;

    std::optional<uint64_t> last_;
    uint64_t last_at_unix_ms_ = 0;  // 0: not read yet
    std::string job_;
};

// Whether the controller reports events; an older one does not.
bool has_events(const Json& status);

// One line: time, number, severity, kind, subject, and what happened.
std::string event_line(const Json& event);

}  // namespace pace::pacectl
