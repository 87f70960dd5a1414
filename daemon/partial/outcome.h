// Outcome: what all nodes know alike about a round that has ended well.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/partial/agreement.h"
#include "daemon/partial/roster.h"

namespace pace::partial {

// What the sum is divided by.
enum class DivideBy : uint8_t {
    one,           // nothing: the sum
    world,         // the workers of the roster, as in the paper
    contributors,  // those that gave something
};

struct Contributor {
    Rank rank = 0;
    uint32_t staleness = 0;  // of its oldest gradient, in rounds
    bool operator==(const Contributor&) const = default;
};

enum class Verdict : uint8_t {
    sum,       // there is a result
    everyone,  // all have called a verb of all members: this round is for that one
    disagree,  // nodes have different terms: every call for this round fails
    nothing,   // no node has terms: nobody has called
};

struct RoundOutcome {
    Verdict verdict = Verdict::sum;
    std::vector<Contributor> contributors;  // by node, then rank
    double divisor = 1.0;                   // at least 1
    std::vector<uint32_t> terms;            // of Verdict::disagree: each node's, 0 for none
    bool operator==(const RoundOutcome&) const = default;
};

// `views` has an entry per node of the roster, with one per worker of the node. The divisor is that
// of `divide_by`.
RoundOutcome outcome_of(const Roster& roster, const std::vector<NodeView>& views,
                        DivideBy divide_by);

// Of a sum, what each worker gave: what a node that fetches the round's result needs, in a form whose size it knows
// beforehand.
std::vector<Snapshot> snapshots_of(const Roster& roster, const RoundOutcome& outcome);
// The outcome of a sum again.
RoundOutcome outcome_of(const Roster& roster, const std::vector<Snapshot>& snapshots,
                        double divisor);

}  // namespace pace::partial
