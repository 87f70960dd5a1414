// Daemon text: the daemon's own document as text: endpoints, connected clients and what they hold.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

std::string daemon_text(const Json& daemon);

// The calls of this node's workers that have waited long, of one job or of all; empty if there are
// none.
std::string waits_text(const Json& daemon, std::string_view job = {});

}  // namespace pace::pacectl
