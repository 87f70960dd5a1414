// Server options: checks the options of the server family that must fit each other, and fills in
// those that follow from others.
#pragma once

#include "base/result.h"
#include "service/controller/core/serving/server.h"
#include "service/controller/vocabulary/options.h"

namespace pace::controller {

// Refuses options that make no sense together. The error names the option, its value and what to
// give instead. Fills in options that follow from others. `options` is as protocol::read_options()
// returns it.
base::Result<> settle_server(JobOptions& options);

// Takes options as check() returns them.
ServerOptions server_options_of(const JobOptions& options);

}  // namespace pace::controller
