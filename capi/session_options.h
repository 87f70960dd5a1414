// The options of pace_session_open, in libclient's terms.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "capi/pace.h"
#include "libclient/link/endpoint.h"
#include "libclient/options/job_options.h"
#include "libclient/options/run.h"

namespace pace::capi {

struct AskedSession {
    client::Endpoint endpoint;
    protocol::AskedOptions job;
    uint32_t rank = 0;
    base::Duration connect{};
    client::RunIdentity run;
    bool by_signals = false;
};

// Reads the options. `given` must not be null. A message begins with the name of the wrong field or
// option. Session::open and the daemon judge the values of the options.
base::Result<AskedSession> read_session(const pace_session_options* given);

}  // namespace pace::capi
