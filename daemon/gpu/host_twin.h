// Host twins: memory of the host beside buffers on a GPU, of the same size and pinned for that GPU.
// Exchanges that go by way of the hosts work on the twins.
//
// The addresses of a twin are reserved with its buffer. Its memory is taken when an exchange needs
// it first: sums that stay on a GPU, or go from GPU to GPU, never do.
#pragma once

#include <vector>

#include "base/result.h"
#include "daemon/runtime/buffer.h"

namespace pace::daemon {

// Whether the twins are there.
bool have_twins(const std::vector<BufferPtr>& buffers);

// Takes the memory of the twins that are not there yet, zeroed, and pins it. Threads: any.
class TwinMaker {
  public:
    explicit TwinMaker(std::vector<BufferPtr> buffers) : buffers_(std::move(buffers)) {}

    // Makes the next piece. Returns true if there is more to do. Blocks for some milliseconds, for
    // the last piece of a twin until it is pinned.
    bool make_piece();
    // All pieces. Blocks for seconds where there are some gigabytes.
    base::Result<> make_all();

    // Errors: memory, and those of the driver.
    const base::Result<>& made() const { return made_; }

  private:
    base::Result<> make_piece_of(Buffer& buffer);

    std::vector<BufferPtr> buffers_;
    size_t next_ = 0;
    base::Result<> made_;
};

}  // namespace pace::daemon
