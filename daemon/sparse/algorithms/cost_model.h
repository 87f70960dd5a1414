// cost_model: the costs of the algorithms in the α-β model (SparDL, Table 1). They decide the
// number of teams, and whether dense or sparse is better. A Link gives α and β.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/sparse/wire/link.h"
#include "daemon/sparse/wire/options.h"

namespace pace::sparse {

struct Cost {
    double messages = 0;  // one after the other, on the longest path
    double bytes = 0;     // received by a worker

    double seconds(const Link& link) const {
        return messages * link.alpha_s + bytes * link.beta_s_per_byte;
    }
};

// An exchange: P workers and n elements. Each worker chooses k elements.
struct Problem {
    size_t P = 1;
    size_t n = 0;
    size_t k = 0;
    WireFormat format;
    ResidualMode residuals = ResidualMode::global;
};

// Bytes of an entry on the wire, without counts. An entry of the papers' format has 8.
double entry_bytes(const Problem& problem);

// The cost of SparDL with d teams: equations (3), (5) and (7). For (7), the middle of its bounds is
// taken. Includes the waiting of team_gather.h where the teams wait.
Cost spar_dl_cost(const Problem& problem, size_t d, TeamGather gather);
// The middle of Table 1's bounds, where the table gives bounds. If P is not a power of two,
// logarithms are rounded up, as this code's algorithms do.
Cost cost_of(Algorithm algorithm, const Problem& problem);
// daemon/collectives' all_reduce of f32: two hops, 2(P-1)/P · n elements.
Cost dense_cost(const Problem& problem);

// The d of the least cost, among those that divide P and that `gather` allows. Among equal costs,
// the least d.
size_t best_teams(const Problem& problem, TeamGather gather, const Link& link);

// The time to form, select and write an element, which a dense exchange does not spend. With two
// threads, top_k_bench measures 0.9 to 1.2 ns. For other machines the value is a guess: pass the
// measured one.
inline constexpr double kSparseSecondsPerElement = 1e-9;

struct DenseChoice {
    bool dense = false;
    std::string reason;  // one sentence with both times, for logs and status
};

// Whether the dense all-reduce would be faster than SparDL with the best number of teams.
DenseChoice should_go_dense(const Problem& problem, const Link& link,
                            double sparse_s_per_element = kSparseSecondsPerElement);

}  // namespace pace::sparse
