// deliver: sums and copies within the memory of a node's own members, without any other node.
// sum_into_members is a whole exchange among the members of one node. After an exchange between
// nodes, copy_to_members distributes the result.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/kernels/pool.h"

namespace pace::collectives {

// A worker that gets the result. There is one pointer per segment. The memory may be the same as a
// Member's.
struct Recipient {
    std::vector<std::byte*> segments;
};

// The callback for the end of a delivery, and how to post it to its thread.
struct Notice {
    kernels::WorkerPool::Post post;
    kernels::WorkerPool::Callback done;
};

// Writes scale · Σ weight · member to every recipient, in place where recipients are the members.
// The sum takes one pass over memory, in the pool's threads. `part` and `recipients` must live
// until the end. The first form returns when all is written, and the calling thread helps. The
// second form returns at once and posts the notice at the end.
void sum_into_members(const LocalPart& part, double scale, const std::vector<Recipient>& recipients,
                      kernels::WorkerPool& pool);
void sum_into_members(const LocalPart& part, double scale, const std::vector<Recipient>& recipients,
                      kernels::WorkerPool& pool, Notice notice);

// Copies the bytes of the part's only member to every recipient. The two forms are as above.
void copy_among_members(const LocalPart& part, const std::vector<Recipient>& recipients,
                        kernels::WorkerPool& pool);
void copy_among_members(const LocalPart& part, const std::vector<Recipient>& recipients,
                        kernels::WorkerPool& pool, Notice notice);

// Copies `result` (layout.bytes() bytes, as all_reduce leaves them) to every recipient. The first
// two forms are as above. The third form returns the work. The work is to be run over [0,
// layout.bytes()) in pieces that begin at multiples of kCutBytes.
void copy_to_members(const Layout& layout, const std::byte* result,
                     const std::vector<Recipient>& recipients, kernels::WorkerPool& pool);
void copy_to_members(const Layout& layout, const std::byte* result,
                     const std::vector<Recipient>& recipients, kernels::WorkerPool& pool,
                     Notice notice);
kernels::WorkerPool::Work copying_to_members(const Layout& layout, const std::byte* result,
                                             const std::vector<Recipient>& recipients);

}  // namespace pace::collectives
