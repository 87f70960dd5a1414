// team_gather: decides how the teams of SparDL meet (section 3.3), from the options alone.
//
// When a node dies in an exchange's last messages, some nodes may have the result and others not.
// The nodes without the result conclude from the others' result (sparse_state.h). For this, each
// node must know its own share of what Spar-All-Gather discards of elements that are in the result.
// Two teams discard no such elements. B-SAG discards none either, because it cuts once. R-SAG among
// more than two teams does, when one half drops what the other half keeps. Rounding a sum to 16
// bits does too. In these cases the teams wait for each other, with ⌈log2 d⌉ small messages, before
// they gather within themselves. So no result exists before all nodes know their shares.
#pragma once

#include <bit>
#include <cstddef>

#include "daemon/sparse/wire/options.h"

namespace pace::sparse {

// Whether `teams` teams meet by recursive doubling (R-SAG).
constexpr bool is_recursive(TeamGather gather, ResidualMode residuals, ValueFormat value,
                            size_t teams) {
    if (gather == TeamGather::bruck || !std::has_single_bit(teams)) return false;
    if (gather == TeamGather::recursive || teams <= 2) return true;
    // Not recursive if only that choice would make the teams wait.
    return residuals != ResidualMode::global || value != ValueFormat::f32;
}

// Whether the teams wait for each other.
constexpr bool teams_wait(TeamGather gather, ResidualMode residuals, ValueFormat value,
                          size_t teams) {
    if (teams <= 1 || residuals != ResidualMode::global) return false;
    return value != ValueFormat::f32 ||
           (teams > 2 && is_recursive(gather, residuals, value, teams));
}

}  // namespace pace::sparse
