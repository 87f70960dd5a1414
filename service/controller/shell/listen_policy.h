// Where a controller may listen. Pure: reads the endpoint's text and the configuration only.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/controller/shell/controller_config.h"

namespace pace::controller {

// The endpoint as ZeroMQ is to bind it ("localhost" written as its address). Fails with invalid if
// it is none, or with denied, saying what to do, if it would let in more than the configuration
// says: anyone off this machine without CURVE, or every interface without being asked.
base::Result<std::string> listenable(std::string_view endpoint, const ControllerConfig& config);

}  // namespace pace::controller
