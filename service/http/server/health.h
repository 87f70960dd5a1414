// Health checks: whether the process lives, and whether it can do its work. They need no token.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "service/http/routes.h"

namespace pace::http {

// /healthz answers 200 as long as the loop runs. /readyz answers 200, or 503 with the line that
// `obstacle` returns. The line says why the process is not ready.
void add_health(Routes& routes, std::function<std::optional<std::string>()> obstacle);

}  // namespace pace::http
