// The options of the server family that must fit each other, and those that follow from others.
#pragma once

#include "base/result.h"
#include "service/controller/core/options.h"
#include "service/controller/core/server.h"

namespace pace::controller {

// Refuses options that make no sense together, naming the option, its value and what to give instead; fills in those
// that follow from others. They are as protocol::read_options() returns them.
base::Result<> settle_server(JobOptions& options);

// Of options as check() returns them.
ServerOptions server_options_of(const JobOptions& options);

}  // namespace pace::controller
