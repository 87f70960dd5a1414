// team_gather: how the teams of SparDL meet (section 3.3), by the options alone.
//
// When a node dies in an exchange's last messages, some nodes may have the result and others not.
// These conclude from the others' (sparse_state.h), for which each must know its own share of what
// Spar-All-Gather discards of elements that are in the result. Two teams discard none; nor does
// B-SAG, which cuts once. R-SAG among more teams does, when one half drops what the other keeps, and
// so does rounding a sum to 16 bits. The teams then wait for each other, ⌈log2 d⌉ small messages,
// before they gather within themselves; no result exists before all know their shares.
#pragma once

#include <bit>
#include <cstddef>

#include "daemon/sparse/options.h"

namespace pace::sparse {

// Whether `teams` teams meet by recursive doubling (R-SAG).
constexpr bool is_recursive(TeamGather gather, ResidualMode residuals, ValueFormat value,
                            size_t teams) {
    if (gather == TeamGather::bruck || !std::has_single_bit(teams)) return false;
    if (gather == TeamGather::recursive || teams <= 2) return true;
    // Not if that alone would make them wait.
    return residuals != ResidualMode::global || value != ValueFormat::f32;
}

// Whether they wait for each other.
constexpr bool teams_wait(TeamGather gather, ResidualMode residuals, ValueFormat value,
                          size_t teams) {
    if (teams <= 1 || residuals != ResidualMode::global) return false;
    return value != ValueFormat::f32 ||
           (teams > 2 && is_recursive(gather, residuals, value, teams));
}

}  // namespace pace::sparse
