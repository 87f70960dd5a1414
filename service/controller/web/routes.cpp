#include "service/controller/web/routes.h"

#include <charconv>
#include <optional>
#include <string>

#include "service/http/gate.h"

namespace pace::controller {

namespace {

// The value of `since`; 0 if absent. Nothing if the value is not a number.
std::optional<uint64_t> since_of(const http::Request& request) {
    uint64_t since = 0;
    const auto given = request.query.find("since");
    if (given == request.query.end()) return since;
    const std::string& text = given->second;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), since);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return since;
}

}  // namespace

void add_documents(http::Routes& routes, const ControllerServer& server) {
    routes.get("/api/status",
               [&server](const http::Request&) { return http::json_answer(server.status_json()); });
    routes.get("/api/events", [&server](const http::Request& request) {
        const auto since = since_of(request);
        return since ? http::json_answer(server.events_json(*since))
                     : http::refusal(400, "since is the number of an event");
    });
}

}  // namespace pace::controller
