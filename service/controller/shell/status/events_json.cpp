#include "service/controller/shell/status/events_json.h"

#include <string>
#include <utility>

namespace pace::controller {
namespace {

using Json = nlohmann::json;

// Null for a field that does not apply to the event.
Json null_if_empty(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

void add_events(const EventRing& ring, nlohmann::json& json, uint64_t since) {
    Json& events = json["events"] = Json::array();
    json["events_first"] = ring.first();
    for (const EventRing::Event& event : ring.events()) {
        if (event.number <= since) continue;
        Json one = Json::object();
        one["number"] = event.number;
        one["at_unix_ms"] = event.at_unix_ms;
        one["kind"] = event.note.event;
        one["severity"] = event.note.warning ? "warning" : "info";
        one["job"] = null_if_empty(event.note.about.job);
        one["rank"] = nullptr;
        if (event.note.about.rank) one["rank"] = *event.note.about.rank;
        one["node"] = null_if_empty(event.note.about.node);
        one["text"] = event.note.detail;
        events.push_back(std::move(one));
    }
}

std::string events_json(const EventRing& ring, uint64_t since) {
    Json json = Json::object();
    add_events(ring, json, since);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pace::controller
