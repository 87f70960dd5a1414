// Buffer: memory that a trainer maps and exchanges work on. Shared, so that it outlives its trainer
// while an exchange uses it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/memory/memfd.h"
#include "daemon/device/device_memory.h"
#include "daemon/device/pinned_memory.h"
#include "daemon/runtime/accounts.h"
#include "protocol/types.h"

namespace pace::daemon {

// The GPU memory that a trainer maps if its buffer is on a GPU.
struct OnDevice {
    device::DeviceMemory memory;
    std::optional<device::PinnedMemory> pin;  // of the host twin, if that is there
};

constexpr size_t charge_for(size_t bytes, bool on_device) {
    return on_device ? device::round_up(bytes, device::kAllocationStep) : bytes;
}

struct Buffer;

// BufferMemory: a buffer's own memory, or the part of another buffer's memory that it refers to.
class BufferMemory {
  public:
    BufferMemory() = default;
    BufferMemory(base::MappedMemfd own)
        : own_(std::move(own)), data_(own_.data()), size_(own_.size()) {}
    // [begin, begin + bytes) of the whole buffer's memory.
    BufferMemory(std::shared_ptr<Buffer> whole, size_t begin, size_t bytes);

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    int fd() const { return own_.fd(); }
    // Of the buffer's own memory: how much of it is there, and taking more (MappedMemfd).
    size_t populated() const { return own_.populated(); }
    base::Result<> populate(size_t bytes) { return own_.populate(bytes); }

  private:
    base::MappedMemfd own_;
    std::shared_ptr<Buffer> whole_;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

struct Buffer {
    // Host memory. A buffer on a GPU has a twin here, as soon as it is needed: exchanges by way of
    // the hosts work on the twin, and clients/device_staging.h copies between the two.
    BufferMemory memory;
    protocol::DType dtype = protocol::DType::f32;
    uint64_t count = 0;
    Charge charge;  // what its user pays, for as long as anyone holds the buffer
    // What the user pays for the block that the buffer lies in. All buffers there share it.
    std::shared_ptr<const Charge> block_charge;
    std::optional<OnDevice> on_device;
    // The memory of a buffer on a GPU is there on the host, too (gpu/host_twin.h). The mutex is of
    // threads that take the memory.
    std::atomic<bool> has_twin = true;
    std::mutex twin_mutex;
    bool temporary = false;  // the trainer's own, or a copy of it: goes when the trainer goes
    // The trainer goes on with other memory, and copies it here when a call names the buffer.
    bool copied = false;

    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    // The driver takes long to give memory of a GPU back, and to unpin: not in the loop's thread. A
    // place in a block is free at once, so that the session's next buffer finds it. Whoever queues
    // work on a buffer holds the buffer until the work has ended.
    ~Buffer();

    size_t bytes() const { return count * protocol::size_of(dtype); }
    // The bytes that a client is charged for the buffer, without its block.
    size_t charged() const { return block() ? 0 : charge_for(bytes(), on_device.has_value()); }
    // The block that the buffer lies in; null: it has memory of its own.
    const device::DeviceBlock* block() const {
        return on_device ? on_device->memory.block().get() : nullptr;
    }
    // Whether the buffer goes when its trainer goes.
    bool is_lent() const { return temporary || (on_device && on_device->memory.is_lent()); }
    const device::Device* device() const {
        return on_device ? &on_device->memory.device() : nullptr;
    }
};

using BufferPtr = std::shared_ptr<Buffer>;

inline BufferMemory::BufferMemory(std::shared_ptr<Buffer> whole, size_t begin, size_t bytes)
    : whole_(std::move(whole)), data_(whole_->memory.data() + begin), size_(bytes) {}

inline Buffer::~Buffer() {
    if (!on_device) return;
    on_device->memory.leave_place();
    struct Held {
        BufferMemory twin;
        OnDevice on_device;  // destroyed before its twin, which it pins
    };
    device::Device& gpu = on_device->memory.device();
    const bool released = base::attempt([&] {
        gpu.release(std::make_shared<const Held>(Held{std::move(memory), std::move(*on_device)}));
    });
    if (!released) on_device.reset();
}

// Whether the buffers share some host memory.
inline bool do_meet(const Buffer& one, const Buffer& other) {
    const std::less<> before;
    return before(one.memory.data(), other.memory.data() + other.bytes()) &&
           before(other.memory.data(), one.memory.data() + one.bytes());
}

// Elements [first, first + count) of a buffer, which must have host memory. Exchanges that use the
// part work on the memory of the whole, which lives as long as the part.
inline BufferPtr part_of(const BufferPtr& whole, uint64_t first, uint64_t count) {
    auto part = std::make_shared<Buffer>();
    const size_t element = protocol::size_of(whole->dtype);
    part->memory = BufferMemory(whole, first * element, count * element);
    part->dtype = whole->dtype;
    part->count = count;
    part->copied = whole->copied;
    return part;
}

}  // namespace pace::daemon
