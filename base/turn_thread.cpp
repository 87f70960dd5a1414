#include "base/turn_thread.h"

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/begin_thread.h"

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
    // First the thread: where there is none, nobody waits.
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

// Nothing here needs memory.
void TurnThread::work_off() {
    std::unique_lock lock(mutex_);
    for (;;) {
        while (askers_.empty() && !stopping_) changed_.wait(lock);
        if (stopping_) return;
        // At the end meanwhile, so that what it asks for now comes after what it has asked for.
        const auto asker = askers_.begin();
        askers_.splice(askers_.end(), askers_, asker);
        Piece piece = std::move(asker->works.front());
        lock.unlock();
        bool more = false;
        const bool had_memory = attempt([&] { more = piece(); });
        more = more && had_memory;
        if (!more) piece = nullptr;  // what it holds may take long to let go
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
