// Health checks: whether the process lives, and whether it can do its work. Nobody needs a token for them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "service/http/routes.h"

namespace pace::http {

// /healthz is 200 as long as the loop runs. /readyz is 200, or 503 with the line that `obstacle` gives, which says why not.
void add_health(Routes& routes, std::function<std::optional<std::string>()> obstacle);

}  // namespace pace::http
