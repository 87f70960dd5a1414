// Listen policy: where a controller may listen. Pure: uses only the endpoint's text and the
// configuration.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/controller/shell/settings/controller_config.h"

namespace pace::controller {

// Returns the endpoint for ZeroMQ to bind, with "localhost" replaced by its address. Errors:
// invalid if the text is no endpoint; denied, with advice, if the endpoint would admit other
// machines without CURVE, or every interface, and the configuration does not allow that.
base::Result<std::string> listenable(std::string_view endpoint, const ControllerConfig& config);

}  // namespace pace::controller
