// Options of a sparse all-reduce. All must be equal on all nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/collectives/all_reduce.h"
#include "daemon/sparse/wire/link.h"
#include "daemon/sparse/wire/wire.h"

namespace pace::sparse {

enum class Algorithm : uint8_t { spar_dl = 1, topk_a, topk_dsa, g_topk, ok_topk, dense };

constexpr std::string_view name_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::spar_dl:
            return "spardl";
        case Algorithm::topk_a:
            return "topka";
        case Algorithm::topk_dsa:
            return "topkdsa";
        case Algorithm::g_topk:
            return "gtopk";
        case Algorithm::ok_topk:
            return "oktopk";
        case Algorithm::dense:
            return "dense";
    }
    return "?";
}

// Spar-All-Gather between teams (section 3.3).
enum class TeamGather : uint8_t {
    // Recursive doubling for a power of two of teams, unless the teams would then wait. Otherwise
    // Bruck.
    automatic = 0,
    recursive = 1,  // R-SAG
    bruck = 2,      // B-SAG
};

// Which of the cut values come again (section 3.2). Only `global` loses nothing. The other modes
// are for comparison.
enum class ResidualMode : uint8_t {
    global = 0,   // all
    partial = 1,  // what a worker itself left out or sent in vain (gTopk, Ok-Topk)
    local = 2,    // what a worker itself left out
};

struct Options {
    Algorithm algorithm = Algorithm::spar_dl;
    double density = 0.01;  // the share of the elements that travel; above 0, at most 1
    WireFormat format;
    ResidualMode residuals = ResidualMode::global;

    // For SparDL alone: d, which divides the number of nodes. 0 means that the cost model chooses d
    // from `link`.
    size_t teams = 1;
    TeamGather gather = TeamGather::automatic;
    Link link;

    // For the dense algorithm alone. The dense algorithm uses no other option.
    collectives::AllReduceOptions all_reduce;

    // The number of the membership. What adapts from exchange to exchange (B-SAG's h, Ok-Topk's
    // thresholds) begins anew when the number changes, because a new node has no earlier state.
    uint64_t view = 0;
};

}  // namespace pace::sparse
