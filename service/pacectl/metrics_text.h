// The controller's and the daemon's documents as metrics, in the text format that Prometheus reads (version 0.0.4). Pure.
#pragma once

#include <string>

#include "service/pacectl/document.h"

namespace pace::pacectl {

std::string metrics_text(const Json& status, const Json& daemon);

}  // namespace pace::pacectl
