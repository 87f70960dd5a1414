// Alike: whether two calls' buffers have the same memory layout.
//
// Nodes compare digests (digest.h) to see that they mean the same call, but anybody can make two
// calls whose digests collide. Calls, models and results that meet on this node are therefore
// compared in full before anybody touches memory.
#pragma once

#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/members/worker.h"

namespace pace::daemon {

// Whether both have the same types and counts, in the same order.
bool are_alike(const std::vector<BufferPtr>& some, const std::vector<BufferPtr>& others);
// Whether the buffers' memory may be laid out as `layout` says.
bool fit(const std::vector<BufferPtr>& buffers, const collectives::Layout& layout);
// The first buffers of `held`, if they are alike `model`; otherwise `model`.
std::vector<BufferPtr> model_in(const std::vector<BufferPtr>& held,
                                const std::vector<BufferPtr>& model);
// Called when the worker's first request has ended well. Buffers that a broadcast has filled are
// the worker's model from now on. So is a result outside of the request's buffers, if it is alike
// the model.
void note_model(Worker& worker);
// Called when the worker's first request has ended well: whether the model's buffers are old from
// now on.
void note_age(Worker& worker);
// ErrorKind::not_found: such a model cannot be given. The controller names a donor that has one
// only if it has become old since.
base::Error old_model();
// Whether they share some memory.
bool do_meet(const std::vector<BufferPtr>& some, const std::vector<BufferPtr>& others);
// Whether both are calls of one round, or of one group.
bool are_alike(const Request& one, const Request& other);

// The first worker whose first request is unlike that of the first worker; null if there is none.
WorkerPtr first_unlike(const std::vector<WorkerPtr>& workers);
// ErrorKind::mismatch; the error says what both workers have called.
base::Error unlike_calls(const Worker& one, const Worker& other);

}  // namespace pace::daemon
