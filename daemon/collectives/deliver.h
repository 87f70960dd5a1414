// deliver: what a node does with its own members' memory, without any other node. An exchange among
// the members of one node is sum_into_members alone; after an exchange between nodes,
// copy_to_members hands out the result.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/local_part.h"
#include "daemon/kernels/pool.h"

namespace pace::collectives {

// A worker that gets the result: a pointer per segment, where a Member's may be the same memory.
struct Recipient {
    std::vector<std::byte*> segments;
};

// Who is told, and in which thread, that a delivery has ended.
struct Notice {
    kernels::WorkerPool::Post post;
    kernels::WorkerPool::Callback done;
};

// Writes scale · Σ weight · member to every recipient, in place where recipients are the members.
// One pass over memory, in the pool's threads. `part` and `recipients` must live until the end. The
// first form returns when all is written, the caller helping; the second returns at once and posts
// the notice.
void sum_into_members(const LocalPart& part, double scale, const std::vector<Recipient>& recipients,
                      kernels::WorkerPool& pool);
void sum_into_members(const LocalPart& part, double scale, const std::vector<Recipient>& recipients,
                      kernels::WorkerPool& pool, Notice notice);

// Copies the bytes of the part's only member to every recipient. Same forms.
void copy_among_members(const LocalPart& part, const std::vector<Recipient>& recipients,
                        kernels::WorkerPool& pool);
void copy_among_members(const LocalPart& part, const std::vector<Recipient>& recipients,
                        kernels::WorkerPool& pool, Notice notice);

// Copies `result` (layout.bytes() bytes, as all_reduce leaves them) to every recipient. Same forms, and a third: the work, for whoever does it
// over [0, layout.bytes()) in pieces that begin at multiples of kCutBytes.
void copy_to_members(const Layout& layout, const std::byte* result,
                     const std::vector<Recipient>& recipients, kernels::WorkerPool& pool);
void copy_to_members(const Layout& layout, const std::byte* result,
                     const std::vector<Recipient>& recipients, kernels::WorkerPool& pool,
                     Notice notice);
kernels::WorkerPool::Work copying_to_members(const Layout& layout, const std::byte* result,
                                             const std::vector<Recipient>& recipients);

}  // namespace pace::collectives
