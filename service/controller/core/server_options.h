// The options of the server family: which make sense, and what those that are left out are.
#pragma once

#include "base/result.h"
#include "service/controller/core/options.h"
#include "service/controller/core/server.h"

namespace pace::controller {

// ErrorKind::invalid, naming the option, its value and what to give instead; in jobs of another family, for any that is set.
base::Result<> check_server(const JobOptions& options);

void fill_server_defaults(JobOptions& options);

// Of options as check() returns them.
ServerOptions server_options_of(const JobOptions& options);

}  // namespace pace::controller
