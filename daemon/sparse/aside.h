// Aside: how a sparse exchange does what takes long: in a thread of the pool, so that the event loop goes on meanwhile, and what is under
// way with it. Little work is done at once, and all of it without `post`, which brings a callback to the event loop's thread.
//
// Only the exchange's own coroutine waits for it, so its data are in one thread at a time.
#pragma once

#include <cstddef>
#include <functional>

#include "base/task.h"
#include "daemon/kernels/pool.h"

namespace pace::sparse {

struct Aside {
    kernels::WorkerPool& pool;
    kernels::WorkerPool::Post post;
    size_t count;  // elements of the exchange

    // Work on so many elements, or entries; without a number, on all that the exchange has.
    base::Task<> run(size_t touched, const std::function<void()>& work) const;
    base::Task<> run(const std::function<void()>& work) const { return run(count, work); }
};

}  // namespace pace::sparse
