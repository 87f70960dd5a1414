// The controller's configuration, as its settings say.
#pragma once

#include "service/controller/shell/settings/controller_config.h"
#include "settings/settings.h"

namespace pace::controller {

// The seed is drawn if the settings give none.
ControllerConfig controller_config(const settings::Settings& settings);

}  // namespace pace::controller
