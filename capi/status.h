// The one table that maps error kinds to public statuses.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "capi/pace.h"
#include "protocol/ring.h"

namespace pace::capi {

// The status of a call that failed with this kind. The status is always a fault (below 0), except
// for `interrupted`. A call whose outputs were not written must not look like an outcome to handle.
pace_status status_of_call(base::ErrorKind kind);

// The status of a request that ended as failed with this kind. The status is never PACE_TIMEOUT,
// which says that a request has not ended.
pace_status status_of_end(base::ErrorKind kind);

// The status of a request that ended with this outcome. `error_kind` counts only when the outcome
// is `failed`.
pace_status status_of(protocol::Outcome outcome, int32_t error_kind);

}  // namespace pace::capi
