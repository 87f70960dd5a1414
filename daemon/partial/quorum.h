// Quorum: who starts a round (eager-SGD, section 4; Li et al., PPoPP 2020).
//
// Either one worker does, by arriving (solo: whoever is first; majority: the one that is drawn), or
// a number of arrivals does, counted by one node of the round. All nodes decide alike, from the
// round's number and the living workers alone. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "daemon/partial/roster.h"

namespace pace::partial {

struct Quorum {
    enum class Kind : uint8_t {
        solo,             // the first to arrive
        majority,         // a worker drawn per round: half contribute on average, none surely
        majority_strict,  // ⌈N/2⌉ arrivals
        count,            // `count` arrivals
        all,              // everyone: an ordinary all-reduce
    };
    Kind kind = Kind::all;
    uint32_t count = 0;  // Kind::count only
    uint64_t seed = 0;   // Kind::majority only; equal everywhere
};

// ErrorKind::invalid if `quorum` makes no sense for `world` workers.
base::Result<> check(const Quorum& quorum, size_t world);

// Whether arrivals are counted; otherwise a single one starts the round.
bool is_counted(const Quorum& quorum);

// How many arrivals start a round of `living` workers, and so how many contribute at least: 1 to
// `living`, fewer than asked for if fewer live. For majority this is 1, the initiator itself.
size_t arrivals_needed(const Quorum& quorum, size_t living);

// The worker that starts `round`: uniform over `living`, which is not empty, and equal wherever
// that is. Each rank draws a number, and the highest of the living wins (Thaler and Ravishankar
// 1998): the death of another changes nothing, that of the initiator hands its round, and only that
// one, to the next highest.
Rank initiator(uint64_t seed, uint64_t round, std::span<const Rank> living);

// The node that counts the arrivals of `round`, in turn.
inline size_t counting_node(uint64_t round, size_t nodes) {
    return static_cast<size_t>(round % nodes);
}

}  // namespace pace::partial
