// Aside: runs the long work of a sparse exchange in a thread of the pool. The event loop goes on
// meanwhile, and so does whatever else is under way there. A small amount of work is done at once,
// in the calling thread. Without `post` all work is done at once. `post` brings a callback to the
// event loop's thread.
//
// Only the exchange's own coroutine waits for the work. So the exchange's data are used by one
// thread at a time.
#pragma once

#include <cstddef>
#include <functional>

#include "base/loop/task.h"
#include "daemon/kernels/pool.h"

namespace pace::sparse {

struct Aside {
    kernels::WorkerPool& pool;
    kernels::WorkerPool::Post post;
    size_t count;  // the number of elements of the exchange

    // Runs work that touches `touched` elements or entries. Without a number, the work touches all
    // elements of the exchange.
    base::Task<> run(size_t touched, const std::function<void()>& work) const;
    base::Task<> run(const std::function<void()>& work) const { return run(count, work); }
};

}  // namespace pace::sparse
