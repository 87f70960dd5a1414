// The daemon's own document as text: where it listens, who is connected, what they hold. Pure.
#pragma once

#include <string>

#include "service/pacectl/document.h"

namespace pace::pacectl {

std::string daemon_text(const Json& daemon);

}  // namespace pace::pacectl
