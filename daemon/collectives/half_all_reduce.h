// half_all_reduce: an all_reduce that sends f32 and f64 segments as halves. These segments then
// take half the bytes, or a quarter.
//
//     partial_node[i] = half(Σ weight · member[i])          summed in the segment's own type
//     result[i]       = half(scale · Σ over contributing nodes, in node order, of partial_node[i])
//
// With nodes in several zones, the result is the second one of all_reduce.h, with halves in place
// of elements. The zones' scaled sums travel as halves too, which adds one rounding for each zone.
//
// The outer sum accumulates in f32. Each node gets one half per element, with the same bits
// everywhere. The half is written in the buffers' own types, which hold it exactly. Segments of a
// 16-bit type already travel in their own type, as all_reduce sends them, whatever `half` is.
//
// half() rounds to nearest, ties to even, and keeps subnormals. f64 is rounded to f32 first. half()
// does not saturate: a finite value from 65520 on is infinite in f16 (bf16 has the range of f32).
// So every node sees that a gradient is too large, as a loss scaler expects, instead of a merely
// large value. NaN becomes the one quiet NaN. Only partials and scaled sums are rounded. A sum over
// nodes may therefore be too large for a half before it is scaled. A node's unscaled sum may also
// be too large, if the caller wants a mean and leaves room (Exchange::Plan::make_room).
//
// A node alone sends nothing and rounds nothing. Its result is all_reduce's.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/collectives/messages/communicator.h"
#include "protocol/types.h"

namespace pace::collectives {

// Runs `work`, which touches `bytes` bytes, away from the calling thread. Empty means that the
// calling thread runs the work.
using Elsewhere = std::function<base::Task<>(size_t bytes, std::function<void()> work)>;

// Does what all_reduce() does. `half` is f16 or bf16, equal on all nodes. Otherwise the error is
// invalid. Memory beyond `result` is only all_reduce's staging. Partials are rounded chunk by chunk
// as they are sent. The halves of the result are collected in the front of `result`. At the end
// `elsewhere` widens them in place, in one pass.
base::Task<base::Result<>> half_all_reduce(Communicator& communicator, const LocalPart& part,
                                           double scale, std::span<std::byte> result,
                                           AllReduceOptions options, protocol::DType half,
                                           Elsewhere elsewhere = {});

}  // namespace pace::collectives
