// The latest events as JSON: in the status document, and by themselves for those who follow them.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "service/controller/shell/event_ring.h"

namespace pace::controller {

// Adds "events", those with numbers greater than `since`, the latest last, and "events_first": the smallest number still kept.
void add_events(const EventRing& ring, nlohmann::json& json, uint64_t since = 0);

// These two alone.
std::string events_json(const EventRing& ring, uint64_t since);

}  // namespace pace::controller
