// What the core notes, as an entry of the log: with the MESSAGE_ID of its event, if base/controller_events.h has one of that name.
#pragma once

#include <string_view>

#include "service/controller/core/types.h"

namespace pace::controller {

// `from`: where the message at hand came from, if there is one; told of a daemon that is refused.
void log_note(const Note& note, std::string_view from);

}  // namespace pace::controller
