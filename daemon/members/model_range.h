// model_range: a request's buffers, seen as a range of a model, which is one vector.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/members/request.h"
#include "daemon/sparse/wire/entries.h"

namespace pace::daemon {

// Reads or writes elements [first, first + size) of the buffers, all of type f32, counted from the
// begin of the first buffer.
void read_range(const std::vector<BufferPtr>& buffers, uint64_t first, std::span<float> out);
void write_range(const std::vector<BufferPtr>& buffers, uint64_t first,
                 std::span<const float> elements);

// ErrorKind::invalid unless the request's buffers are a range of a model with this many elements.
base::Result<> check_range(const Request& request, uint64_t elements);

// A copy of the entries of a sparse push, since the trainer may change them at any time.
// ErrorKind::invalid unless the indices rise strictly and are below `elements`.
base::Result<sparse::Entries> entries_of(const Request& request, uint64_t elements);

}  // namespace pace::daemon
