#include "daemon/sparse/exchange/aside.h"

#include <new>

#include "base/attempt.h"

namespace pace::sparse {

namespace {

// Less work takes about as long as going to another thread and back. The value is a guess.
constexpr size_t kAsideMin = size_t{1} << 15;

}  // namespace

base::Task<> Aside::run(size_t touched, const std::function<void()>& work) const {
    if (!post || touched < kAsideMin) {
        work();
        co_return;
    }
    base::OneShot<bool> done;
    bool had_memory = false;
    pool.submit(
        1, 1, [&](size_t, size_t) { had_memory = base::attempt(work); }, post,
        [&done] { done.set(true); }, kernels::WorkerPool::Pieces::slow);
    co_await done;
    if (!had_memory) throw std::bad_alloc();  // ends the coroutine that asked for the work
}

}  // namespace pace::sparse
