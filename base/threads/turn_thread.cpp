#include "base/threads/turn_thread.h"

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/threads/begin_thread.h"

namespace pace::base {

TurnThread::~TurnThread() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void TurnThread::run(uint64_t asker, Piece piece) {
    const std::lock_guard lock(mutex_);
    // Begin the thread first: if it cannot begin, no work is left in the queue.
    if (!thread_.joinable()) thread_ = begin_thread([this] { work_off(); });
    const auto known = std::find_if(askers_.begin(), askers_.end(),
                                    [asker](const Asker& other) { return other.id == asker; });
    if (known != askers_.end()) {
        known->works.push_back(std::move(piece));
    } else {
        std::list<Asker> fresh(1);
        fresh.front().id = asker;
        fresh.front().works.push_back(std::move(piece));
        askers_.splice(askers_.end(), fresh);
    }
    changed_.notify_one();
}

// This function allocates no memory.
void TurnThread::work_off() {
    std::unique_lock lock(mutex_);
    for (;;) {
        while (askers_.empty() && !stopping_) changed_.wait(lock);
        if (stopping_) return;
        // The asker goes to the end of the list now, so that work which it asks for meanwhile comes
        // after its earlier work.
        const auto asker = askers_.begin();
        askers_.splice(askers_.end(), askers_, asker);
        Piece piece = std::move(asker->works.front());
        lock.unlock();
        bool more = false;
        const bool had_memory = attempt([&] { more = piece(); });
        more = more && had_memory;
        // Release what the piece holds before locking: the release may take long.
        if (!more) piece = nullptr;
        lock.lock();
        if (more) {
            asker->works.front() = std::move(piece);
            continue;
        }
        asker->works.pop_front();
        if (asker->works.empty()) askers_.erase(asker);
    }
}

}  // namespace pace::base
