// half_all_reduce: all_reduce with f32 and f64 segments as halves on the wire: half the bytes, or a
// quarter.
//
//     partial_node[i] = half(Σ weight · member[i])          summed in the segment's own type
//     result[i]       = half(scale · Σ over contributing nodes, in node order, of partial_node[i])
//
// and with nodes in several zones the second result of all_reduce.h, with halves in place of elements: the
// zones' sums travel as halves too, scaled, which is one rounding more for each zone.
//
// The outer sum accumulates in f32; what each node gets is one half, the same bits everywhere,
// written in the buffers' own types, which hold it exactly. Segments that are halves already travel
// in their own type, as all_reduce sends them, whatever `half` is.
//
// half() rounds to nearest, ties to even, subnormals kept; f64 is rounded to f32 first. It does not
// saturate: a finite value from 65520 on is infinite in f16 (bf16 has the range of f32), so that a
// gradient too large for it shows itself at every node, as a loss scaler expects, and does not pass
// for one that is merely large. NaN becomes the one quiet NaN. Only partials and scaled sums are
// rounded: a sum over nodes that is too large before it is scaled does no harm, nor does a node's, if whoever
// asks for a mean leaves room (Exchange::Plan::make_room).
//
// One node alone sends nothing and rounds nothing: its result is all_reduce's.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/communicator.h"
#include "daemon/collectives/local_part.h"
#include "protocol/types.h"

namespace pace::collectives {

// Does work that touches so many bytes, where that holds up nobody. Empty: the calling thread does it.
using Elsewhere = std::function<base::Task<>(size_t bytes, std::function<void()> work)>;

// As all_reduce(); `half` is f16 or bf16, equal on all nodes, else ErrorKind::invalid. Memory beyond
// `result`: all_reduce's staging alone. Partials are rounded chunk by chunk as they are sent; the
// halves of the result gather in the front of `result` and are widened there, at the end, in one
// pass, which `elsewhere` does.
base::Task<base::Result<>> half_all_reduce(Communicator& communicator, const LocalPart& part,
                                           double scale, std::span<std::byte> result,
                                           AllReduceOptions options, protocol::DType half,
                                           Elsewhere elsewhere = {});

}  // namespace pace::collectives
