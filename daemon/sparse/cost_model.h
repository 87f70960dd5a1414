// cost_model: what the algorithms cost in the α-β model (SparDL, Table 1), for the choice of the
// number of teams and of dense or sparse. α and β are a Link's.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/sparse/link.h"
#include "daemon/sparse/options.h"

namespace pace::sparse {

struct Cost {
    double messages = 0;  // one after the other, on the longest path
    double bytes = 0;     // received by a worker

    double seconds(const Link& link) const {
        return messages * link.alpha_s + bytes * link.beta_s_per_byte;
    }
};

// What an exchange is: P workers, n elements, of which each chooses k.
struct Problem {
    size_t P = 1;
    size_t n = 0;
    size_t k = 0;
    WireFormat format;
    ResidualMode residuals = ResidualMode::global;
};

// Bytes of an entry on the wire, counts left out: 8 in the papers' format.
double entry_bytes(const Problem& problem);

// SparDL with d teams: equations (3), (5) and (7), with the middle of (7)'s bounds, and the waiting
// of team_gather.h where there is one.
Cost spar_dl_cost(const Problem& problem, size_t d, TeamGather gather);
// The middle of Table 1's bounds, where it has bounds. For P that are no powers of two, logarithms
// are rounded up, which is what this code does.
Cost cost_of(Algorithm algorithm, const Problem& problem);
// daemon/collectives' all_reduce of f32: two hops, 2(P-1)/P · n elements.
Cost dense_cost(const Problem& problem);

// The d, among those that divide P (and that `gather` allows), of the least cost; the least of
// equals.
size_t best_teams(const Problem& problem, TeamGather gather, const Link& link);

// Time to form, select and write an element, which the dense exchange does not spend; with two
// threads top_k_bench measures 0.9 to 1.2 ns. A guess for other machines: hand in what is measured.
inline constexpr double kSparseSecondsPerElement = 1e-9;

struct DenseChoice {
    bool dense = false;
    std::string reason;  // one sentence with both times, for logs and status
};

// Whether the dense all-reduce would be faster than SparDL with the best number of teams.
DenseChoice should_go_dense(const Problem& problem, const Link& link,
                            double sparse_s_per_element = kSparseSecondsPerElement);

}  // namespace pace::sparse
