#include "daemon/device/device_block.h"

#include <utility>

namespace pace::device {

using base::Result;

Result<std::shared_ptr<DeviceBlock>> DeviceBlock::create(Device& device) {
    PACE_TRY_ASSIGN(memory, DeviceMemory::create(device, kAllocationStep));
    return std::shared_ptr<DeviceBlock>(new DeviceBlock(std::move(memory)));
}

Result<std::shared_ptr<DeviceBlock>> DeviceBlock::adopt(Device& device, base::UniqueFd descriptor,
                                                        size_t bytes) {
    PACE_TRY_ASSIGN(memory, DeviceMemory::adopt(device, std::move(descriptor), bytes));
    return std::shared_ptr<DeviceBlock>(new DeviceBlock(std::move(memory)));
}

std::optional<DeviceMemory> DeviceBlock::place(const std::shared_ptr<DeviceBlock>& block,
                                               size_t bytes) {
    const std::optional<size_t> offset = block->places_.take(bytes);
    if (!offset) return std::nullopt;
    return DeviceMemory(block, *offset, bytes);
}

std::optional<DeviceMemory> DeviceBlock::place_at(const std::shared_ptr<DeviceBlock>& block,
                                                  uint64_t offset, size_t bytes) {
    if (!block->places_.take_at(offset, bytes)) return std::nullopt;
    return DeviceMemory(block, offset, bytes);
}

}  // namespace pace::device
