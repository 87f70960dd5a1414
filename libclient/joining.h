// Joining: from an endpoint to a connection that has joined its job, and what its failures mean.
#pragma once

#include <memory>

#include "libclient/connection.h"
#include "libclient/greeting.h"
#include "libclient/job_options.h"

namespace pace::client {

// One attempt, within `patience`.
base::Result<std::shared_ptr<Connection>> connect_and_join(const Endpoint& endpoint,
                                                           const AskedOptions& options,
                                                           const Introduction& who,
                                                           const Patience& patience);

// As connect_and_join, but a daemon whose controller does not answer is asked again while there is
// time: it gives up on its controller before we do. So is one in whose job another run, or another
// process of this rank, still has a place, if the worker says of which run it is.
base::Result<std::shared_ptr<Connection>> connect_patiently(const Endpoint& endpoint,
                                                            const AskedOptions& options,
                                                            const Introduction& who,
                                                            const Patience& patience);

// What a caller of a set-up call sees: bytes that do not parse, or an answer that does not come,
// have cost the connection.
base::Error settled(base::Error error);

// While a daemon restarts, its controller may not have noticed yet that the old one, and this
// worker with it, is gone.
bool passes_by_itself(base::ErrorKind kind);

// Whether an attempt only ran out of time: it tells less than one before it that was answered.
bool ran_out(const base::Error& error, base::TimePoint deadline);

}  // namespace pace::client
