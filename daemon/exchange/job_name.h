// The name of a job as a client says it: daemons make folders and documents of it.
#pragma once

#include <string_view>

#include "base/result.h"

namespace pace::daemon {

// ErrorKind::invalid, in the words of the controller, who checks it again, with all other options.
base::Result<> check_job_name(std::string_view name_untrusted);

}  // namespace pace::daemon
