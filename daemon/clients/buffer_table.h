// BufferTable: one session's buffers by index and generation. A stale handle is an error instead of
// another buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "daemon/runtime/buffer.h"

namespace pace::daemon {

class BufferTable {
  public:
    struct Handle {
        uint32_t index = 0;
        uint32_t generation = 0;
    };

    Handle add(BufferPtr buffer) {
        uint32_t index = 0;
        while (index < slots_.size() && slots_[index].buffer) ++index;
        if (index == slots_.size()) slots_.emplace_back();
        slots_[index].buffer = std::move(buffer);
        ++slots_[index].generation;
        return {index, slots_[index].generation};
    }

    base::Result<BufferPtr> find(uint32_t index, uint32_t generation) const {
        if (index < slots_.size() && slots_[index].buffer && slots_[index].generation == generation)
            return slots_[index].buffer;
        return base::make_error(base::ErrorKind::handle,
                                "buffer {} (generation {}) is not a buffer of this session", index,
                                generation);
    }

    base::Result<BufferPtr> remove(uint32_t index) {
        if (index >= slots_.size() || !slots_[index].buffer)
            return base::make_error(base::ErrorKind::handle,
                                    "buffer {} is not a buffer of this session", index);
        return std::exchange(slots_[index].buffer, nullptr);
    }

    // Sorted by index.
    std::vector<BufferPtr> all() const {
        std::vector<BufferPtr> buffers;
        for (const Slot& slot : slots_) {
            if (slot.buffer) buffers.push_back(slot.buffer);
        }
        return buffers;
    }

  private:
    struct Slot {
        BufferPtr buffer;
        uint32_t generation = 0;
    };
    std::vector<Slot> slots_;
};

}  // namespace pace::daemon
