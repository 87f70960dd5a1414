// Note log: writes the core's notes to the log, with the MESSAGE_ID of the event if
// base/log/controller_events.h has one of this name.
#pragma once

#include <string_view>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// `from`: the source of the current message, if any; logged for a daemon that is refused.
void log_note(const Note& note, std::string_view from);

}  // namespace pace::controller
