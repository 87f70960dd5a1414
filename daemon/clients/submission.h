// Submission check: turns a submission, copied from a ring and not yet trusted, into a Request.
#pragma once

#include "base/result.h"
#include "daemon/clients/buffer_table.h"
#include "daemon/members/request.h"
#include "protocol/ring.h"

namespace pace::daemon {

// Checks every field. `entry` must be a private copy. Errors: invalid (verb, count, types,
// duplicate buffers), handle.
base::Result<Request> check_submission(const protocol::SubmissionEntry& entry,
                                       const BufferTable& buffers);

}  // namespace pace::daemon
