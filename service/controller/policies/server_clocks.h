// ServerClocks: the progress of each worker of a server job, and the model version that its next
// update is based on (Jiang et al., "Heterogeneity-aware Distributed Parameter Servers", SIGMOD
// 2017, Algorithm 2: c, c_min, c_max and V).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class ServerClocks {
  public:
    struct Worker {
        // The number of ordered updates, which is the clock of the next update.
        uint64_t clock = 0;
        uint64_t version = 0;  // V(m), the version that the worker works on
        // The version that the worker uses after its next update; 0: it has not asked for one.
        uint64_t prefetched = 0;
        bool operator==(const Worker&) const = default;
    };

    // The worker begins at the slowest clock, with the newest version. Adding a worker twice
    // changes nothing.
    void add(Rank rank);
    // Restores a worker's earlier state, which the controller has lost.
    void add(Rank rank, const Worker& worker);
    // Removes the worker: nobody waits for it any more.
    void remove(Rank rank);

    // Null if the worker is absent.
    const Worker* find(Rank rank) const;
    const std::map<Rank, Worker>& workers() const { return workers_; }

    // Records the order of an update of `clock`, at least the worker's own. The paper prints c_max
    // ← c; its Appendix C needs c + 1.
    void pushed(Rank rank, uint64_t clock);
    // Records the order of a pull for the step of `clock`. With the printed rule V(m) ← c_max a
    // version can move backwards; here it does not. If the worker is still at the step before, the
    // new version counts from its next update on.
    void pulled(Rank rank, uint64_t clock);

    // c_min; without workers c_max.
    uint64_t slowest() const { return clocks_.empty() ? fastest_ : clocks_.begin()->first; }
    // c_max, over all workers that have ever been present.
    uint64_t fastest() const { return fastest_; }
    // The least V(m); without workers the newest version.
    uint64_t oldest_version() const;
    // The number of updates so far.
    uint64_t pushes() const { return pushes_; }

    void restore(uint64_t fastest, uint64_t pushes);

  private:
    using Counted = std::map<uint64_t, size_t>;  // workers per clock or per version
    static void enter(Counted& counted, uint64_t key) { ++counted[key]; }
    static void leave(Counted& counted, uint64_t key);
    void move(Worker& worker, const Worker& to);

    std::map<Rank, Worker> workers_;
    Counted clocks_;
    Counted versions_;
    uint64_t fastest_ = 0;
    uint64_t pushes_ = 0;
    uint64_t newest_version_ = 0;
};

}  // namespace pace::controller
