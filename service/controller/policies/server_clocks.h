// ServerClocks: how far each worker of a server job has come, and upon which version of the model its next update rests
// (Jiang et al., "Heterogeneity-aware Distributed Parameter Servers", SIGMOD 2017, Algorithm 2: c, c_min, c_max and V).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

class ServerClocks {
  public:
    struct Worker {
        uint64_t clock =
            0;  // steps of which the update has been ordered: the next one is of this clock
        uint64_t version = 0;  // V(m), the version of the model that it works on
        uint64_t prefetched =
            0;  // the version that it goes on with after its next update; 0: it has asked for none
        bool operator==(const Worker&) const = default;
    };

    // Begins at the slowest clock, with the newest version. Adding a worker twice changes nothing.
    void add(Rank rank);
    // As it was, after the controller has forgotten.
    void add(Rank rank, const Worker& worker);
    // Nobody waits for it any more.
    void remove(Rank rank);

    // Null if it is not there.
    const Worker* find(Rank rank) const;
    const std::map<Rank, Worker>& workers() const { return workers_; }

    // An update of `clock`, at least the worker's own, is ordered. The paper prints c_max ← c; its Appendix C needs c + 1.
    void pushed(Rank rank, uint64_t clock);
    // A pull for the step of `clock` is ordered. As the paper prints it, V(m) ← c_max, a version can move backwards; here it does
    // not. Of a worker that is still at the step before, it counts from its next update on.
    void pulled(Rank rank, uint64_t clock);

    // c_min; without workers c_max.
    uint64_t slowest() const { return clocks_.empty() ? fastest_ : clocks_.begin()->first; }
    // c_max, of all that have ever been there.
    uint64_t fastest() const { return fastest_; }
    // The least V(m); without workers the newest version there is.
    uint64_t oldest_version() const;
    // Updates so far.
    uint64_t pushes() const { return pushes_; }

    void restore(uint64_t fastest, uint64_t pushes);

  private:
    using Counted = std::map<uint64_t, size_t>;  // workers by clock, or by version
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
