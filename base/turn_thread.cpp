#include "base/turn_thread.h"

#include <algorithm>
#include <iterator>
#include <utility>

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
    const auto known = std::find_if(askers_.begin(), askers_.end(),
                                    [asker](const Asker& other) { return other.id == asker; });
    Asker& place = known == askers_.end() ? askers_.emplace_back() : *known;
    place.id = asker;
    place.works.push_back(std::move(piece));
    if (!thread_.joinable()) thread_ = std::thread([this] { work_off(); });
    changed_.notify_one();
}

void TurnThread::work_off() {
    std::unique_lock lock(mutex_);
    for (;;) {
        while (askers_.empty() && !stopping_) changed_.wait(lock);
        if (stopping_) return;
        // It keeps its place at the end meanwhile, so that what it asks for now comes after what it has asked for.
        askers_.push_back({askers_.front().id, {}});
        Asker asker = std::move(askers_.front());
        askers_.pop_front();
        lock.unlock();
        const bool more = asker.works.front()();
        if (!more) asker.works.pop_front();  // what it holds may take long to let go
        lock.lock();
        const auto place = std::find_if(askers_.begin(), askers_.end(),
                                        [&asker](const Asker& own) { return own.id == asker.id; });
        place->works.insert(place->works.begin(), std::make_move_iterator(asker.works.begin()),
                            std::make_move_iterator(asker.works.end()));
        if (place->works.empty()) askers_.erase(place);
    }
}

}  // namespace pace::base
