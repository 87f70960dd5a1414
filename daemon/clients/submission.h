// Turns a submission, copied from a ring and not yet trusted, into a Request.
#pragma once

#include "base/result.h"
#include "daemon/clients/buffer_table.h"
#include "daemon/exchange/request.h"
#include "protocol/ring.h"

namespace pace::daemon {

// Every field is checked; `entry` must be a private copy. Errors: invalid (verb, count, types, duplicate buffers), handle.
base::Result<Request> check_submission(const protocol::SubmissionEntry& entry,
                                       const BufferTable& buffers);

}  // namespace pace::daemon
