// nonfinite: finds infinities and NaNs, for jobs that refuse gradients with them
// (reject_nonfinite).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/kernels/aside.h"
#include "daemon/runtime/buffer.h"

namespace pace::daemon {

struct Place {
    size_t buffer = 0;
    size_t element = 0;
};

// Finds the first infinity or NaN, in the order of the buffers, in one pass over them. Where larger
// elements travel as `half`, an element that is infinite as `half` counts as one, too. `found` is
// called once, in the loop's thread: before this returns if there is little to look through.
void find_nonfinite(const kernels::Aside& aside, const std::vector<BufferPtr>& buffers,
                    std::optional<protocol::DType> half,
                    std::function<void(std::optional<Place>)> found);

}  // namespace pace::daemon
