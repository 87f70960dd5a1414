#include "daemon/clients/session_blocks.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

using device::DeviceBlock;

namespace {

bool is_on(const DeviceBlock& block, const device::Device& device) {
    return &block.memory().device() == &device;
}

}  // namespace

BufferPtr SessionBlocks::place_in(Block& block, std::optional<device::DeviceMemory> memory) {
    if (!memory) return nullptr;
    auto buffer = std::make_shared<Buffer>();
    buffer->on_device = OnDevice{std::move(*memory), std::nullopt};
    buffer->block_charge = block.charge;
    ++block.buffers;
    return buffer;
}

BufferPtr SessionBlocks::place(const device::Device& device, size_t bytes) {
    for (auto& [number, known] : blocks_) {
        const auto block = known.is_made_here ? known.block.lock() : nullptr;
        if (!block || !is_on(*block, device)) continue;
        BufferPtr placed = place_in(known, DeviceBlock::place(block, bytes));
        if (placed) return placed;
    }
    return nullptr;
}

BufferPtr SessionBlocks::place_at(uint64_t number, const device::Device& device, uint64_t offset,
                                  size_t bytes) {
    Block& known = blocks_.at(number);
    const auto block = known.block.lock();
    if (!block || !is_on(*block, device)) return nullptr;
    return place_in(known, DeviceBlock::place_at(block, offset, bytes));
}

SessionBlocks::Block& SessionBlocks::add(const Buffer& buffer, uint64_t charged, uint64_t number) {
    Block& known = blocks_[number];
    known.block = buffer.on_device->memory.block();
    known.address = buffer.block();
    known.charge = buffer.block_charge;
    known.charged = charged;
    known.buffers = 1;
    next_number_ = std::max(next_number_, number + 1);
    return known;
}

void SessionBlocks::add_made(const Buffer& buffer, uint64_t charged) {
    add(buffer, charged, next_number_).is_made_here = true;
}

void SessionBlocks::add_adopted(const Buffer& buffer, uint64_t charged, uint64_t number) {
    add(buffer, charged, number).is_named = true;
}

void SessionBlocks::add_inherited(const Buffer& buffer, uint64_t charged) {
    const auto known = find(buffer);
    if (known == blocks_.end())
        add(buffer, charged, next_number_);
    else
        ++blocks_.at(known->first).buffers;
}

SessionBlocks::Blocks::const_iterator SessionBlocks::find(const Buffer& buffer) const {
    return std::find_if(blocks_.begin(), blocks_.end(), [&buffer](const auto& known) {
        return known.second.address == buffer.block();
    });
}

uint64_t SessionBlocks::remove(const Buffer& buffer) {
    const auto known = buffer.block() == nullptr ? blocks_.end() : find(buffer);
    if (known == blocks_.end() || --blocks_.at(known->first).buffers > 0) return 0;
    const uint64_t charged = known->second.charged;
    blocks_.erase(known);
    return charged;
}

SessionBlocks::Name SessionBlocks::name(const Buffer& buffer) {
    if (buffer.block() == nullptr) return {};
    const uint64_t number = find(buffer)->first;
    const bool is_first = !std::exchange(blocks_.at(number).is_named, true);
    const device::DeviceMemory& whole = buffer.block()->memory();
    return {number, buffer.on_device->memory.offset(), whole.size(), is_first ? whole.fd() : -1};
}

}  // namespace pace::daemon
