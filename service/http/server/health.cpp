#include "service/http/server/health.h"

#include <utility>

#include "service/http/gate.h"

namespace pace::http {

void add_health(Routes& routes, std::function<std::optional<std::string>()> obstacle) {
    routes.get(
        "/healthz",
        [](const Request&) {
            Response alive;
            alive.body = "ok\n";
            return alive;
        },
        Access::anyone);
    routes.get(
        "/readyz",
        [obstacle = std::move(obstacle)](const Request&) {
            if (const auto why = obstacle()) return refusal(503, *why);
            Response ready;
            ready.body = "ready\n";
            return ready;
        },
        Access::anyone);
}

}  // namespace pace::http
