#include "libclient/memory/gpu.h"

#include <fcntl.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::UniqueFd;
using namespace base::cuda;  // the driver's own names

Result<std::shared_ptr<Gpu>> Gpu::open(uint32_t ordinal) {
    const auto& driver = CudaDriver::get();
    // The kind is not `unavailable`, because a reconnection of the session could not help.
    if (!driver) return make_error(ErrorKind::not_found, "{}", driver.error().message);
    int count = 0;
    (void)(*driver)->device_get_count(&count);  // after an error the count stays 0
    if (ordinal >= static_cast<uint32_t>(count))
        return make_error(ErrorKind::invalid,
                          "device is GPU {}, but this process sees {} GPUs (see "
                          "CUDA_VISIBLE_DEVICES)",
                          ordinal, count);
    std::shared_ptr<Gpu> gpu(new Gpu(**driver, ordinal));
    PACE_TRY((*driver)->check((*driver)->device_get(&gpu->device_, static_cast<int>(ordinal)),
                              "look at a GPU"));
    PACE_TRY((*driver)->check((*driver)->device_get_uuid(&gpu->uuid_, gpu->device_),
                              "ask a GPU's number"));
    PACE_TRY((*driver)->check((*driver)->primary_context_retain(&gpu->context_, gpu->device_),
                              "open a GPU"));
    return gpu;
}

Gpu::~Gpu() {
    if (context_ == nullptr) return;
    order_.reset();
    (void)driver_.primary_context_release(device_);
}

// ----------------------------------------------------------------------------------------- memory

Result<std::unique_ptr<GpuMemory>> Gpu::map(UniqueFd descriptor, size_t bytes) {
    const ContextScope scope = enter();
    PACE_TRY_ASSIGN(mapping, CudaMapping::import(driver_, device_, descriptor.get(), bytes));
    std::unique_ptr<GpuMemory> memory(new GpuMemory(shared_from_this()));
    memory->descriptor_ = std::move(descriptor);
    memory->address_ = mapping.address();
    memory->mapping_ = std::move(mapping);
    return memory;
}

Result<std::unique_ptr<GpuMemory>> Gpu::map(std::span<const std::byte> handle) {
    CUipcMemHandle name{};
    if (handle.size() != sizeof(name))
        return make_error(ErrorKind::corrupt,
                          "the daemon sent neither a descriptor nor a handle of a GPU's memory");
    std::memcpy(&name, handle.data(), sizeof(name));
    const ContextScope scope = enter();
    std::unique_ptr<GpuMemory> memory(new GpuMemory(shared_from_this()));
    PACE_TRY(driver_.check(driver_.ipc_open_mem_handle(&memory->address_, name, kIpcLazyPeerAccess),
                           "open the daemon's memory of a GPU"));
    return memory;
}

// A descriptor means that the block is new, whatever had its number before: a daemon that is gone
// may have given it.
Result<std::shared_ptr<const GpuMemory>> Gpu::block_of(const GpuPlace& place, UniqueFd descriptor) {
    if (!descriptor.valid()) {
        const auto known = blocks_.find(place.block);
        auto block = known == blocks_.end() ? nullptr : known->second.lock();
        if (block) return block;
        return make_error(ErrorKind::corrupt,
                          "the daemon named block {} of GPU {}, which it has "
                          "not sent",
                          place.block, ordinal_);
    }
    PACE_TRY_ASSIGN(mapped, map(std::move(descriptor), place.block_bytes));
    std::shared_ptr<const GpuMemory> block = std::move(mapped);
    std::erase_if(blocks_, [](const auto& other) { return other.second.expired(); });
    blocks_[place.block] = block;
    return block;
}

Result<std::unique_ptr<GpuMemory>> Gpu::map(const GpuPlace& place, UniqueFd descriptor,
                                            size_t bytes, size_t element_bytes) {
    PACE_TRY_ASSIGN(block, block_of(place, std::move(descriptor)));
    const size_t whole = block->mapping_->bytes();
    if (place.offset > whole || bytes > whole - place.offset || place.offset % element_bytes != 0)
        return make_error(ErrorKind::corrupt,
                          "the daemon placed {} bytes at {} in block {} of GPU {}, which has {}",
                          bytes, place.offset, place.block, ordinal_, whole);
    std::unique_ptr<GpuMemory> memory(new GpuMemory(shared_from_this()));
    memory->address_ = block->address_ + place.offset;
    memory->place_ = {place.block, whole, place.offset};
    memory->block_ = std::move(block);
    return memory;
}

Result<std::unique_ptr<GpuMemory>> Gpu::share(int descriptor, size_t bytes) {
    UniqueFd own(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (!own.valid())
        return make_error(ErrorKind::invalid,
                          "options->fd is {}, which is no open descriptor; give one by "
                          "cuMemExportToShareableHandle",
                          descriptor);
    const ContextScope scope = enter();
    PACE_TRY_ASSIGN(size, rounded_for(driver_, device_, bytes));
    auto memory = map(std::move(own), size);
    if (memory) return memory;
    return make_error(
        ErrorKind::invalid,
        "options->fd is {}, which is no {} bytes of GPU {} ({}); give a descriptor by "
        "cuMemExportToShareableHandle, of memory of that device and of that size",
        descriptor, size, ordinal_, memory.error().message);
}

Result<std::unique_ptr<GpuMemory>> Gpu::share(const void* pointer, size_t bytes) {
    const CUdeviceptr address = reinterpret_cast<uintptr_t>(pointer);
    const ContextScope scope = enter();
    int device = -1;
    CUdeviceptr block = 0;
    size_t whole = 0;
    const bool is_known =
        driver_.pointer_get_attribute(&device, kPointerDevice, address) == kSuccess &&
        driver_.mem_get_range(&block, &whole, address) == kSuccess;
    const uint64_t offset = address - block;
    if (!is_known || device != device_ || bytes > whole - offset)
        return make_error(ErrorKind::invalid,
                          "options->pointer is {}, from where on GPU {} has no {} bytes of this "
                          "process; give memory of options->device, of all count elements",
                          pointer, ordinal_, bytes);
    std::unique_ptr<GpuMemory> memory(new GpuMemory(shared_from_this()));
    memory->own_.emplace();
    memory->own_->offset = offset;
    const auto exported =
        driver_.check(driver_.ipc_get_mem_handle(&memory->own_->handle, block), "name the memory");
    if (!exported)
        return make_error(ErrorKind::invalid,
                          "options->pointer is {}, memory that no other process can open ({}); "
                          "allocate it by cudaMalloc, or export it by "
                          "cuMemExportToShareableHandle and give PACE_FD",
                          pointer, exported.error().message);
    memory->address_ = address;
    return memory;
}

// A context that has failed uses nothing.
void GpuMemory::settle() const {
    const ContextScope scope = gpu_->enter();
    (void)gpu_->driver_.context_synchronize();
}

GpuMemory::~GpuMemory() {
    if (address_ == 0 || own_ || block_) return;
    settle();  // the driver unmaps at once what kernels still use
    const ContextScope scope = gpu_->enter();
    if (mapping_) {
        mapping_.reset();
    } else {
        (void)gpu_->driver_.ipc_close_mem_handle(address_);
    }
}

// ------------------------------------------------------------------------------------------ order

// A context that has failed is no fault of the daemon's, and no other daemon would help.
Result<> Gpu::check(CUresult result, std::string_view what) const {
    if (!is_sticky(result)) return driver_.check(result, what);
    return make_error(
        ErrorKind::closed,
        "this process's work on GPU {} has failed, and CUDA refuses all that follows; "
        "end the process and start it again ({})",
        ordinal_, driver_.error(result, what).message);
}

Result<> Gpu::check_stream(CUstream stream) const {
    PACE_TRY(check_device(stream));
    int capture = kCaptureNone;
    const CUresult state = driver_.stream_is_capturing(stream, &capture);
    if (state == kSuccess && capture == kCaptureNone) return {};
    // The stream of the context waits for all others, so it cannot be used during a capture either.
    if (state == kSuccess || state == kCaptureImplicit)
        return make_error(ErrorKind::invalid,
                          "a CUDA graph is being captured on stream, and no call of Pace can be "
                          "part of a graph; call before the capture begins or after it has ended");
    return check(state, "ask whether a stream is captured");
}

Result<> Gpu::check_device(CUstream stream) const {
    if (stream == nullptr) return {};  // the stream of the context
    CUcontext context = nullptr;
    CUresult state = driver_.stream_get_context(stream, &context);
    if (state == kSuccess) {
        const ContextScope theirs(driver_, context);
        CUdevice device = -1;
        state = driver_.context_get_device(&device);
        if (state == kSuccess && device == device_) return {};
    }
    if (is_sticky(state)) return check(state, "ask of which GPU a stream is");
    return make_error(ErrorKind::invalid, "stream is not one of GPU {}, where the buffers are",
                      ordinal_);
}

Result<std::shared_ptr<GpuWords>> Gpu::make_words(uint32_t slots) const {
    return GpuWords::create(driver_, device_, slots);
}

Result<std::shared_ptr<GpuEvents>> Gpu::make_events(uint32_t slots) const {
    return GpuEvents::create(driver_, context_, slots);
}

void Gpu::release_streams() {
    if (order_) order_->release();
}

Result<> Gpu::record(uint32_t slot, uint64_t request, CUstream stream) {
    const ContextScope scope = enter();
    PACE_TRY(check_stream(stream));
    return check(order_->record(slot, request, stream), "mark a place in a stream");
}

Result<bool> Gpu::await_on(uint32_t slot, uint64_t request, CUstream stream) {
    const ContextScope scope = enter();
    PACE_TRY(check_stream(stream));
    const CUresult state = order_->await_on(slot, request, stream);
    if (state == kNotReady) return false;
    PACE_TRY(check(state, "make a stream wait"));
    return true;
}

Result<bool> Gpu::has_come(uint32_t slot, uint64_t request) {
    const ContextScope scope = enter();
    const CUresult state = order_->has_come(slot, request);
    if (state == kNotReady) return false;
    PACE_TRY(check(state, "the GPU failed"));
    return true;
}

}  // namespace pace::client
