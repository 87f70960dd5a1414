#include "service/controller/policies/server_clocks.h"

#include <algorithm>

namespace pace::controller {

void ServerClocks::leave(Counted& counted, uint64_t key) {
    const auto entry = counted.find(key);
    if (--entry->second == 0) counted.erase(entry);
}

void ServerClocks::move(Worker& worker, const Worker& to) {
    leave(clocks_, worker.clock);
    leave(versions_, worker.version);
    worker = to;
    enter(clocks_, worker.clock);
    enter(versions_, worker.version);
    newest_version_ = std::max(newest_version_, worker.version);
}

void ServerClocks::add(Rank rank) {
    add(rank, {slowest(), std::max(fastest_, oldest_version())});
}

void ServerClocks::add(Rank rank, const Worker& worker) {
    if (!workers_.emplace(rank, worker).second) return;
    enter(clocks_, worker.clock);
    enter(versions_, worker.version);
    fastest_ = std::max(fastest_, worker.clock);
    newest_version_ = std::max(newest_version_, worker.version);
}

void ServerClocks::remove(Rank rank) {
    const auto entry = workers_.find(rank);
    if (entry == workers_.end()) return;
    leave(clocks_, entry->second.clock);
    leave(versions_, entry->second.version);
    workers_.erase(entry);
}

const ServerClocks::Worker* ServerClocks::find(Rank rank) const {
    const auto entry = workers_.find(rank);
    return entry == workers_.end() ? nullptr : &entry->second;
}

void ServerClocks::pushed(Rank rank, uint64_t clock) {
    const auto entry = workers_.find(rank);
    if (entry == workers_.end()) return;
    Worker& worker = entry->second;
    move(worker, {clock + 1, std::max(worker.version + 1, worker.prefetched), 0});
    fastest_ = std::max(fastest_, clock + 1);
    ++pushes_;
}

void ServerClocks::pulled(Rank rank, uint64_t clock) {
    const auto entry = workers_.find(rank);
    if (entry == workers_.end()) return;
    Worker& worker = entry->second;
    Worker to = worker;
    (worker.clock < clock ? to.prefetched : to.version) = std::max(worker.version, fastest_);
    move(worker, to);
}

uint64_t ServerClocks::oldest_version() const {
    return versions_.empty() ? newest_version_ : versions_.begin()->first;
}

void ServerClocks::restore(uint64_t fastest, uint64_t pushes) {
    fastest_ = std::max(fastest_, fastest);
    pushes_ = std::max(pushes_, pushes);
}

}  // namespace pace::controller
