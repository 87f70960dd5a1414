// nonfinite: finds what is no number, for jobs that refuse gradients with such (reject_nonfinite).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "daemon/exchange/buffer.h"
#include "daemon/kernels/pool.h"

namespace pace::daemon {

struct Place {
    size_t buffer = 0;
    size_t element = 0;
};

// The first infinity or NaN, in the order of the buffers. One pass; blocks until done, the pool's threads help.
std::optional<Place> find_nonfinite(const std::vector<BufferPtr>& buffers,
                                    kernels::WorkerPool& pool);

}  // namespace pace::daemon
