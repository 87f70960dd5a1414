// Alike: whether the memory of one call may be laid out as another's.
//
// Digests (digest.h) tell nodes that they mean the same, and anybody can make two calls whose digests meet. What has come together on this
// node, calls, models, results, is compared by what it is before anybody touches memory.
#pragma once

#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"
#include "daemon/exchange/worker.h"

namespace pace::daemon {

// The same types and counts, in the same order.
bool are_alike(const std::vector<BufferPtr>& some, const std::vector<BufferPtr>& others);
// The buffers' memory may be laid out so.
bool fit(const std::vector<BufferPtr>& buffers, const collectives::Layout& layout);
// The first of `held` if they are alike `model`, otherwise `model`.
std::vector<BufferPtr> model_in(const std::vector<BufferPtr>& held,
                                const std::vector<BufferPtr>& model);
// The worker's first request has ended well. What it got by a broadcast is its model from now on, and so is what it got elsewhere than in its
// buffers, if that is one.
void note_model(Worker& worker);
// Some of their memory is the same.
bool do_meet(const std::vector<BufferPtr>& some, const std::vector<BufferPtr>& others);
// Calls of one round, or of one group.
bool are_alike(const Request& one, const Request& other);

// The first of the workers whose first request is unlike the first worker's; null: there is none.
WorkerPtr first_unlike(const std::vector<WorkerPtr>& workers);
// ErrorKind::mismatch, with what both have called.
base::Error unlike_calls(const Worker& one, const Worker& other);

}  // namespace pace::daemon
