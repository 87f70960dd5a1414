// Entry: the change of the model at one position of the controller's order. Ledger: the state that
// follows from the order so far, without the model. The structs of the same names in
// service/controller/vocabulary/types.h define the meaning of both.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace pace::server {

enum class Step : uint8_t { assign = 1, push = 2, pull = 3, join = 4, leave = 5, checkpoint = 6 };

struct WorkerClock {
    uint64_t clock = 0;
    uint64_t version = 0;
    uint64_t prefetched = 0;
    bool operator==(const WorkerClock&) const = default;
};

struct Entry {
    uint64_t position = 0;
    Step step = Step::push;
    uint64_t clock = 0;
    uint64_t version = 0;
    double rate = 0;
    std::vector<uint64_t> expired;
    uint64_t slowest = 0;
    uint32_t rank = 0;
    WorkerClock worker;
    // For a pull: elements [first, first + count).
    uint64_t first = 0;
    uint64_t count = 0;
};

class Ledger {
  public:
    // Adds the next entry.
    void add(const Entry& entry) {
        position = entry.position;
        if (entry.step == Step::leave) workers.erase(entry.rank);
        if (entry.step == Step::push || entry.step == Step::pull || entry.step == Step::join)
            workers[entry.rank] = entry.worker;
        if (entry.step == Step::assign) versions.clear();
        if (entry.step == Step::push) {
            ++pushes;
            fastest = fastest > entry.clock + 1 ? fastest : entry.clock + 1;
            ++versions[entry.version];
        }
        for (const uint64_t version : entry.expired) versions.erase(version);
    }
    bool operator==(const Ledger&) const = default;

    uint64_t position = 0;
    uint64_t fastest = 0;
    uint64_t pushes = 0;
    std::map<uint32_t, WorkerClock> workers;  // by rank
    // Versions that may get further updates, with the number of updates of each version.
    std::map<uint64_t, uint64_t> versions;
};

// Conversions from and to the controller's structs on either side of the wire. These structs have
// the same fields.
template <typename Told>
Entry entry_of(const Told& told) {
    Entry entry;
    entry.position = told.position;
    entry.step = static_cast<Step>(told.step);
    entry.clock = told.clock;
    entry.version = told.version;
    entry.rate = told.rate;
    entry.expired = told.expired;
    entry.slowest = told.slowest;
    entry.rank = told.worker.rank;
    entry.worker = {told.worker.clock, told.worker.version, told.worker.prefetched};
    entry.first = told.first;
    entry.count = told.count;
    return entry;
}

template <typename Told>
Ledger ledger_of(const Told& told) {
    Ledger ledger;
    ledger.position = told.position;
    ledger.fastest = told.fastest;
    ledger.pushes = told.pushes;
    for (const auto& worker : told.workers)
        ledger.workers[worker.rank] = {worker.clock, worker.version, worker.prefetched};
    for (const auto& version : told.versions) ledger.versions[version.version] = version.updates;
    return ledger;
}

template <typename Told>
Told tell(const Ledger& ledger) {
    Told told;
    told.position = ledger.position;
    told.fastest = ledger.fastest;
    told.pushes = ledger.pushes;
    for (const auto& [rank, worker] : ledger.workers)
        told.workers.push_back({rank, worker.clock, worker.version, worker.prefetched});
    for (const auto& [version, updates] : ledger.versions)
        told.versions.push_back({version, updates});
    return told;
}

}  // namespace pace::server
