// Quorum: decides who starts a round (eager-SGD, section 4; Li et al., PPoPP 2020).
//
// Either one worker starts the round by arriving, or a number of arrivals starts it. With solo, the
// worker is the first to arrive. With majority, it is the worker that is drawn. Arrivals are
// counted by one node of the round. All nodes decide alike, from the round's number and the living
// workers alone. All functions are pure. They may be called in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "daemon/partial/agreement/roster.h"

namespace pace::partial {

struct Quorum {
    enum class Kind : uint8_t {
        solo,      // the first to arrive
        majority,  // a worker drawn per round: on average half contribute, but no number is certain
        majority_strict,  // ⌈N/2⌉ arrivals
        count,            // `count` arrivals
        all,              // everyone: an ordinary all-reduce
    };
    Kind kind = Kind::all;
    uint32_t count = 0;  // for Kind::count only
    uint64_t seed = 0;   // for Kind::majority only; equal everywhere
};

// Returns ErrorKind::invalid if `quorum` makes no sense for `world` workers.
base::Result<> check(const Quorum& quorum, size_t world);

// Whether arrivals are counted. Otherwise a single arrival starts the round.
bool is_counted(const Quorum& quorum);

// The number of arrivals that start a round of `living` workers. So at least this many workers
// contribute. The number is 1 to `living`. It is less than the quorum asks for if fewer workers
// live. For majority it is 1, the initiator itself.
size_t arrivals_needed(const Quorum& quorum, size_t living);

// The worker that starts `round`. It is drawn uniformly from `living`, which is not empty. All
// nodes with the same `living` get the same worker. Each rank draws a number, and the highest
// number of the living workers wins (Thaler and Ravishankar 1998). The death of another worker
// changes nothing. If the initiator dies, only its round goes to the worker with the next highest
// number.
Rank initiator(uint64_t seed, uint64_t round, std::span<const Rank> living);

// The node that counts the arrivals of `round`. The nodes take turns.
inline size_t counting_node(uint64_t round, size_t nodes) {
    return static_cast<size_t>(round % nodes);
}

}  // namespace pace::partial
