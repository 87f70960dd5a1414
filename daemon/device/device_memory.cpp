#include "daemon/device/device_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/attempt.h"
#include "daemon/device/device_block.h"

namespace pace::device {

using base::ErrorKind;
using base::Result;
using base::UniqueFd;
using namespace base::cuda;  // the driver's own names

// A trainer that has freed a buffer may ask for the next one before the memory is free.
Result<DeviceMemory> DeviceMemory::create(Device& device, size_t bytes) {
    auto memory = try_create(device, bytes);
    if (memory || memory.error().kind != ErrorKind::memory) return memory;
    device.await_released();
    return try_create(device, bytes);
}

Result<DeviceMemory> DeviceMemory::try_create(Device& device, size_t bytes) {
    DeviceMemory memory(device);
    const ContextScope scope = device.enter();
    if (device.facts().exports_descriptors) {
        PACE_TRY(memory.allocate_virtual(bytes));
    } else {
        PACE_TRY(memory.allocate_plain(bytes));
    }
    PACE_TRY(memory.clear());
    return memory;
}

// Uses its own stream, so that no other work is waited for.
Result<> DeviceMemory::clear() {
    const CudaDriver& driver = device_->driver();
    const ContextScope scope = device_->enter();
    CUstream stream = nullptr;
    PACE_TRY(driver.check(driver.stream_create(&stream, kStreamNonBlocking), "make a stream"));
    auto cleared =
        driver.check(driver.set_bytes(address_, 0, size_, stream), "clear memory of a GPU");
    if (cleared) cleared = driver.check(driver.stream_synchronize(stream), "clear memory of a GPU");
    (void)driver.stream_destroy(stream);
    return cleared;
}

Result<> DeviceMemory::allocate_virtual(size_t bytes) {
    const CudaDriver& driver = device_->driver();
    const CUdevice ordinal = device_->facts().ordinal;
    PACE_TRY_ASSIGN(size, rounded_for(driver, ordinal, bytes));
    const CUmemAllocationProp wanted = exportable_on(ordinal);
    CUmemGenericAllocationHandle allocation = 0;
    const CUresult made = driver.mem_create(&allocation, size, &wanted, 0);
    if (made == kOutOfMemory)
        return base::make_error(ErrorKind::memory, "{} ({}) has no {} bytes left",
                                device_->facts().id(), device_->facts().name, size);
    PACE_TRY(driver.check(made, "allocate memory of a GPU"));
    int descriptor = -1;
    auto done = driver.check(driver.mem_export(&descriptor, allocation, kHandleFd, 0),
                             "export memory of a GPU");
    if (done) {
        descriptor_ = UniqueFd(descriptor);
        auto mapped = CudaMapping::map(driver, device_->facts().ordinal, allocation, size);
        done = mapped ? Result<>() : Result<>(mapped.error());
        if (mapped) take(std::move(*mapped));
    }
    (void)driver.mem_release(allocation);  // the mapping stays
    return done;
}

void DeviceMemory::take(CudaMapping mapping) {
    address_ = mapping.address();
    size_ = mapping.bytes();
    mapping_ = std::move(mapping);
}

Result<> DeviceMemory::allocate_plain(size_t bytes) {
    // A handle names the driver's whole block. Rounding up keeps other allocations out of it.
    bytes = round_up(bytes, kAllocationStep);
    const CudaDriver& driver = device_->driver();
    const CUresult made = driver.mem_alloc(&address_, bytes);
    if (made == kOutOfMemory)
        return base::make_error(ErrorKind::memory, "{} ({}) has no {} bytes left",
                                device_->facts().id(), device_->facts().name, bytes);
    PACE_TRY(driver.check(made, "allocate memory of a GPU"));
    size_ = bytes;
    return driver.check(driver.ipc_get_mem_handle(&handle_, address_), "export memory of a GPU");
}

Result<DeviceMemory> DeviceMemory::adopt(Device& device, UniqueFd descriptor, size_t bytes) {
    DeviceMemory memory(device);
    const ContextScope scope = device.enter();
    PACE_TRY_ASSIGN(size, rounded_for(device.driver(), device.facts().ordinal, bytes));
    PACE_TRY_ASSIGN(mapping, CudaMapping::import(device.driver(), device.facts().ordinal,
                                                 descriptor.get(), size));
    memory.take(std::move(mapping));
    memory.descriptor_ = std::move(descriptor);
    return memory;
}

Result<DeviceMemory> DeviceMemory::open(Device& device, const CUipcMemHandle& handle,
                                        uint64_t offset, size_t bytes) {
    DeviceMemory memory(device);
    const CudaDriver& driver = device.driver();
    const ContextScope scope = device.enter();
    PACE_TRY(driver.check(driver.ipc_open_mem_handle(&memory.opened_, handle, kIpcLazyPeerAccess),
                          "open a trainer's memory of a GPU"));
    CUdeviceptr begin = 0;
    size_t whole = 0;
    PACE_TRY(driver.check(driver.mem_get_range(&begin, &whole, memory.opened_),
                          "ask how much memory of a GPU a trainer has given"));
    whole -= std::min<size_t>(whole, memory.opened_ - begin);
    if (offset > whole || bytes > whole - offset)
        return base::make_error(ErrorKind::invalid, "{} bytes from {} on are not in a block of {}",
                                bytes, offset, whole);
    memory.address_ = memory.opened_ + offset;
    memory.size_ = bytes;
    return memory;
}

std::shared_ptr<DeviceMemory> DeviceMemory::share(DeviceMemory memory) {
    struct Owner {
        explicit Owner(DeviceMemory given)
            : memory(std::make_shared<DeviceMemory>(std::move(given))) {}
        Owner(const Owner&) = delete;
        Owner& operator=(const Owner&) = delete;
        // Without memory for the handover it is released here.
        ~Owner() {
            Device& device = memory->device();
            (void)base::attempt([&] { device.release(std::move(memory)); });
        }
        std::shared_ptr<DeviceMemory> memory;
    };
    const auto owner = std::make_shared<const Owner>(std::move(memory));
    return {owner, owner->memory.get()};
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept {
    *this = std::move(other);
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
    if (this == &other) return *this;
    release();
    device_ = std::exchange(other.device_, nullptr);
    address_ = std::exchange(other.address_, 0);
    opened_ = std::exchange(other.opened_, 0);
    size_ = std::exchange(other.size_, 0);
    mapping_ = std::exchange(other.mapping_, std::nullopt);
    descriptor_ = std::move(other.descriptor_);
    handle_ = other.handle_;
    block_ = std::move(other.block_);
    has_place_ = std::exchange(other.has_place_, false);
    keeps_place_ = other.keeps_place_;
    return *this;
}

DeviceMemory::~DeviceMemory() {
    release();
}

DeviceMemory::DeviceMemory(std::shared_ptr<DeviceBlock> block, uint64_t offset, size_t bytes)
    : device_(&block->memory().device()),
      address_(block->memory().address() + offset),
      size_(bytes),
      block_(std::move(block)),
      has_place_(true) {}

uint64_t DeviceMemory::offset() const {
    return block_ ? address_ - block_->memory().address() : 0;
}

void DeviceMemory::leave_place() {
    if (std::exchange(has_place_, false) && !keeps_place_) block_->places_.give_back(offset());
}

void DeviceMemory::release() {
    if (device_ == nullptr || (address_ == 0 && opened_ == 0)) return;
    if (block_) {
        leave_place();
        block_.reset();
        address_ = 0;
        return;
    }
    const ContextScope scope = device_->enter();
    if (mapping_) {
        mapping_.reset();
    } else if (opened_ != 0) {
        (void)device_->driver().ipc_close_mem_handle(opened_);
    } else {
        (void)device_->driver().mem_free(address_);
    }
    address_ = 0;
    opened_ = 0;
}

}  // namespace pace::device
