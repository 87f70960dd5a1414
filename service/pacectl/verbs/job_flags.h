// Job flags: the flags of `pacectl job create`, one for each row of the table of job options
// (protocol/options).
#pragma once

#include "protocol/options/asked_options.h"

namespace CLI {
class App;
}

namespace pace::pacectl {

// Declares the flags on `create`; parsing fills ret_job. topk.team_gather is --topk-team-gather.
void add_job_flags(CLI::App& create, protocol::AskedOptions& ret_job);

}  // namespace pace::pacectl
