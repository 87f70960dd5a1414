// Joining: leads from an endpoint to a connection that has joined its job, and tells what the
// failures mean.
#pragma once

#include <memory>

#include "libclient/connection/connection.h"
#include "libclient/link/greeting.h"
#include "libclient/options/job_options.h"

namespace pace::client {

// Makes one attempt within `patience`.
base::Result<std::shared_ptr<Connection>> connect_and_join(const Endpoint& endpoint,
                                                           const AskedOptions& options,
                                                           const Introduction& who,
                                                           const Patience& patience);

// Like connect_and_join, but asks again while there is time in two cases. In the first case the
// daemon's controller does not answer: the daemon gives up on its controller before we give up. In
// the second case another run, or another process of this rank, still has a place in the job. The
// second case is tried again only if the worker says which run it belongs to.
base::Result<std::shared_ptr<Connection>> connect_patiently(const Endpoint& endpoint,
                                                            const AskedOptions& options,
                                                            const Introduction& who,
                                                            const Patience& patience);

// Returns the error that the caller of a set-up call sees. Bytes that do not parse, and an answer
// that does not come, have cost the connection. Both become `unavailable`.
base::Error settled(base::Error error);

// Whether a failure of this kind passes without help. While a daemon restarts, its controller may
// not have noticed yet that the old daemon and its worker are gone.
bool passes_by_itself(base::ErrorKind kind);

// Whether an attempt only ran out of time. Its error tells less than the error of an earlier
// attempt that was answered.
bool ran_out(const base::Error& error, base::TimePoint deadline);

}  // namespace pace::client
