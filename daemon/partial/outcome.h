// Outcome: what all nodes know alike about a round that has ended well.
//
// All functions are pure. They may be called in any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/partial/agreement/agreement.h"
#include "daemon/partial/agreement/roster.h"

namespace pace::partial {

// The divisor of the sum.
enum class DivideBy : uint8_t {
    one,           // no division: the result is the sum
    world,         // the number of workers in the roster, as in the paper
    contributors,  // the number of workers that gave something
};

struct Contributor {
    Rank rank = 0;
    uint32_t staleness = 0;  // of the worker's oldest gradient, in rounds
    bool operator==(const Contributor&) const = default;
};

enum class Verdict : uint8_t {
    sum,       // there is a result
    everyone,  // all have called a verb of all members: the round serves that verb
    disagree,  // nodes have different terms: every call for this round fails
    nothing,   // no node has terms: no worker has called
};

struct RoundOutcome {
    Verdict verdict = Verdict::sum;
    std::vector<Contributor> contributors;  // by node, then rank
    double divisor = 1.0;                   // at least 1
    std::vector<uint32_t> terms;            // for Verdict::disagree: each node's digest, 0 for none
    bool operator==(const RoundOutcome&) const = default;
};

// `views` has an entry per node of the roster. Each view has an entry per worker of the node. The
// divisor is that of `divide_by`.
RoundOutcome outcome_of(const Roster& roster, const std::vector<NodeView>& views,
                        DivideBy divide_by);

// What each worker gave to a sum, in a form whose size is known beforehand. A node that fetches the
// round's result needs it.
std::vector<Snapshot> snapshots_of(const Roster& roster, const RoundOutcome& outcome);
// Makes the outcome of a sum from the snapshots again.
RoundOutcome outcome_of(const Roster& roster, const std::vector<Snapshot>& snapshots,
                        double divisor);

}  // namespace pace::partial
