// WriteMarks: states of the buffers of a session's requests, in the memory shared with its trainer.
// The memory outlives this daemon (protocol/ring.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/memory/memfd.h"
#include "base/unique_fd.h"
#include "daemon/runtime/write_mark.h"
#include "protocol/ring.h"

namespace pace::daemon {

class WriteMarks {
  public:
    WriteMarks() = default;
    // The marks handed out keep `memory` mapped, and `connection` open: its end tells the trainer
    // that the marks are final.
    WriteMarks(std::shared_ptr<base::MappedMemfd> memory, const protocol::RingLayout& layout,
               std::shared_ptr<const base::UniqueFd> connection);

    // Returns the mark of a request that begins. Null if there is no room: more requests are in
    // flight than the ring has slots.
    WriteMarkPtr take(uint64_t request);
    // To be called when the request has ended and its trainer has been told how. Its mark is void
    // from then on.
    void release(uint64_t request);

  private:
    class Mark;
    struct Slots;

    std::shared_ptr<Slots> slots_;
};

}  // namespace pace::daemon
