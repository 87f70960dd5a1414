// job.h: the job that --algorithm asks for.
//
//     reduce            pace_reduce, the sum over all members
//     average           pace_average by partial reduce with groups of all workers
//
// A pace_reduce that does not wait for all workers, or that could do so but waits:
//     all, solo, majority, majority-strict, quorum-N
//
// A pace_reduce of the largest elements (options.density), which never becomes dense:
//     topka, topkdsa, gtopk, oktopk         the rivals, in their papers' format
//     spardl                                in its paper's format, one team
//     spardl-auto                           the number of teams chosen by the daemons
//     spardl-rsag-N, spardl-bsag-N          N teams, which gather recursively or by Bruck
//     spardl-compact, spardl-compact-auto   compressed indices and half-precision values
#pragma once

#include <optional>

#include "bench/common/options.h"
#include "capi/testing/asked_session.h"

namespace pace::bench {

// Returns nothing if the word is none of these.
std::optional<AskedSession> job_of(const Options& options);

// Return whether rounds may go on without a worker, and whether only the largest elements travel.
bool is_partial(const AskedSession& job);
bool is_sparse(const AskedSession& job);

}  // namespace pace::bench
