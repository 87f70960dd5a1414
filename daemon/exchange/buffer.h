// Buffer: memory that a trainer maps and exchanges work on. Shared: it outlives its trainer while an exchange uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/memfd.h"
#include "daemon/device/device_memory.h"
#include "daemon/device/pinned_memory.h"
#include "daemon/exchange/accounts.h"
#include "protocol/types.h"

namespace pace::daemon {

// What a trainer maps if its buffer is on a GPU.
struct OnDevice {
    device::DeviceMemory memory;
    std::optional<device::PinnedMemory> pin;  // of the twin; without it copies are slower
};

constexpr size_t charge_for(size_t bytes, bool on_device) {
    return on_device ? device::round_up(bytes, device::kAllocationStep) : bytes;
}

struct Buffer;

// A buffer's own memory, or, of a part of another buffer, some of that one's.
class BufferMemory {
  public:
    BufferMemory() = default;
    BufferMemory(base::MappedMemfd own)
        : own_(std::move(own)), data_(own_.data()), size_(own_.size()) {}
    // [begin, begin + bytes) of the whole's.
    BufferMemory(std::shared_ptr<Buffer> whole, size_t begin, size_t bytes);

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    int fd() const { return own_.fd(); }

  private:
    base::MappedMemfd own_;
    std::shared_ptr<Buffer> whole_;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

struct Buffer {
    // Of a buffer on a GPU, its twin on the host: exchanges work on that, and clients/device_staging.h copies between both.
    BufferMemory memory;
    protocol::DType dtype = protocol::DType::f32;
    uint64_t count = 0;
    Charge charge;                      // what its user pays, for as long as it is anywhere
    std::optional<OnDevice> on_device;  // destroyed before its twin
    bool temporary = false;             // the trainer's own, or a copy: goes with it

    size_t bytes() const { return count * protocol::size_of(dtype); }
    // What a client is charged for it.
    size_t charged() const { return charge_for(bytes(), on_device.has_value()); }
    // It goes with its trainer.
    bool is_lent() const { return temporary || (on_device && on_device->memory.is_lent()); }
    const device::Device* device() const {
        return on_device ? &on_device->memory.device() : nullptr;
    }
};

using BufferPtr = std::shared_ptr<Buffer>;

inline BufferMemory::BufferMemory(std::shared_ptr<Buffer> whole, size_t begin, size_t bytes)
    : whole_(std::move(whole)), data_(whole_->memory.data() + begin), size_(bytes) {}

// Some of their memory, on the host, is the same.
inline bool do_meet(const Buffer& one, const Buffer& other) {
    const std::less<> before;
    return before(one.memory.data(), other.memory.data() + other.bytes()) &&
           before(other.memory.data(), one.memory.data() + one.bytes());
}

// Elements [first, first + count) of a buffer of the host's memory, which it must have. What exchanges do with it they do with the
// whole's, which lives as long.
inline BufferPtr part_of(const BufferPtr& whole, uint64_t first, uint64_t count) {
    auto part = std::make_shared<Buffer>();
    const size_t element = protocol::size_of(whole->dtype);
    part->memory = BufferMemory(whole, first * element, count * element);
    part->dtype = whole->dtype;
    part->count = count;
    return part;
}

}  // namespace pace::daemon
