// Events as JSON: part of the status document, and a document for clients that follow events.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "service/controller/shell/status/event_ring.h"

namespace pace::controller {

// Adds "events", those with numbers greater than `since`, the latest last, and "events_first", the
// smallest number still kept.
void add_events(const EventRing& ring, nlohmann::json& json, uint64_t since = 0);

// A document with these two fields only.
std::string events_json(const EventRing& ring, uint64_t since);

}  // namespace pace::controller
