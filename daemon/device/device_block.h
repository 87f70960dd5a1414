// DeviceBlock: one allocation on a GPU in which several small buffers of one session lie, each in a
// place of its own.
//
// The driver allocates, exports and maps nothing smaller than kAllocationStep. The memory in the
// places shares the block: the block goes with the last. A block is never shared by two sessions,
// as whoever maps a block can read all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "daemon/device/block_places.h"
#include "daemon/device/device_memory.h"

namespace pace::device {

// At least two such buffers have room in a block. A larger one would leave the rest of its block to
// even smaller ones, and has little to win: most of the block is its own.
constexpr bool is_small(size_t bytes) {
    return bytes <= kAllocationStep / 2;
}

class DeviceBlock {
  public:
    // As DeviceMemory::create and adopt, which say what may be done where. A block of an earlier
    // daemon may have another size than ours.
    static base::Result<std::shared_ptr<DeviceBlock>> create(Device& device);
    static base::Result<std::shared_ptr<DeviceBlock>> adopt(Device& device,
                                                            base::UniqueFd descriptor,
                                                            size_t bytes);

    // Memory in a gap of the block, not cleared; empty: no gap is long enough. The place is taken
    // until the memory goes. Threads: any. Makes no call of the driver.
    static std::optional<DeviceMemory> place(const std::shared_ptr<DeviceBlock>& block,
                                             size_t bytes);
    // The same for memory that lies there already; empty: it does not lie in the block, or meets
    // other memory.
    static std::optional<DeviceMemory> place_at(const std::shared_ptr<DeviceBlock>& block,
                                                uint64_t offset, size_t bytes);

    const DeviceMemory& memory() const { return memory_; }

  private:
    friend class DeviceMemory;
    explicit DeviceBlock(DeviceMemory memory)
        : memory_(std::move(memory)), places_(memory_.size()) {}

    DeviceMemory memory_;
    BlockPlaces places_;
};

}  // namespace pace::device
