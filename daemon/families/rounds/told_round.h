// ToldRound: what a node that missed a round of a partial job is told about it ahead of the result:
// whether the round was a sum at all, and of what. Both nodes know the message's size from the
// roster.
//
//     | verdict u64 | divisor f64 | terms (partial/terms.h) |
//     | staleness u32 per worker of the roster | zeros |
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/partial/outcome.h"
#include "daemon/partial/terms.h"

namespace pace::daemon {

struct ToldRound {
    partial::RoundOutcome outcome;
    std::optional<partial::Terms> terms;  // none: nobody had called a reduce yet
};

// The check of this exchange, instead of a digest of buffers.
inline constexpr uint32_t kToldRoundCheck = 0x544F4C44;

// The message's size, rounded up to whole cut units as a layout is.
size_t told_round_bytes(const partial::Roster& roster);
std::vector<std::byte> write(const ToldRound& told, const partial::Roster& roster);
// ErrorKind::corrupt.
base::Result<ToldRound> read_told_round(const partial::Roster& roster,
                                        std::span<const std::byte> bytes_untrusted);

}  // namespace pace::daemon
