// The events of a Chrome trace that one daemon's recording makes, in that daemon's time.
#pragma once

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// `recording` is a daemon's; rows that make no sense are left out.
Json recording_events(const Json& recording);

}  // namespace pace::pacectl
