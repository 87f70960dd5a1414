// The flags of `pacectl job create`: a job's options on the command line.
#pragma once

#include "libclient/job_options.h"

namespace CLI {
class App;
}

namespace pace::pacectl {

// Parsing `create` fills `ret_job`, which must live until then.
void add_job_flags(CLI::App& create, client::JobOptions& ret_job);

}  // namespace pace::pacectl
