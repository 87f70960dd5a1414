// WriteMarks: what the buffers of a session's requests hold, in the memory that it shares with its trainer, where it outlives
// this daemon (protocol/ring.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/memfd.h"
#include "daemon/exchange/write_mark.h"
#include "protocol/ring.h"

namespace pace::daemon {

class WriteMarks {
  public:
    WriteMarks() = default;
    // In `memory`, which the marks that are handed out keep mapped.
    WriteMarks(std::shared_ptr<base::MappedMemfd> memory, const protocol::RingLayout& layout);

    // Of a request that begins. Null if there is no room: more requests are in flight than the ring has slots.
    WriteMarkPtr take(uint64_t request);
    // It has ended, and its trainer is told how: its mark means nothing any more.
    void release(uint64_t request);

  private:
    class Mark;
    struct Slots;

    std::shared_ptr<Slots> slots_;
};

}  // namespace pace::daemon
