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

// The daemon's events, opened in this process.
class Gpu::Waiting {
  public:
    Waiting(const CudaDriver& driver, CUcontext context) : driver_(driver), context_(context) {}
    ~Waiting() {
        const ContextScope scope(driver_, context_);
        for (CUevent event : events_) (void)driver_.event_destroy(event);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    Result<> open(const CUipcEventHandle& handle) {
        CUevent event = nullptr;
        PACE_TRY(driver_.check(driver_.ipc_open_event_handle(&event, handle),
                               "open an event of the daemon's"));
        events_.push_back(event);
        return {};
    }
    CUevent at(uint32_t slot) const { return events_.at(slot); }

  private:
    const CudaDriver& driver_;
    CUcontext context_;
    std::vector<CUevent> events_;
};

Result<std::shared_ptr<Gpu>> Gpu::open(uint32_t ordinal, uint32_t slots) {
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
    PACE_TRY(gpu->make_events(slots));
    return gpu;
}

Result<> Gpu::make_events(uint32_t slots) {
    const ContextScope scope = enter();
    for (uint32_t slot = 0; slot < slots; ++slot) {
        CUevent event = nullptr;
        PACE_TRY(
            driver_.check(driver_.event_create(&event, kEventDisableTiming | kEventInterprocess),
                          "make an event to share"));
        ours_.push_back(event);
        PACE_TRY(driver_.check(driver_.ipc_get_event_handle(&handles_.emplace_back(), event),
                               "share an event"));
    }
    return {};
}

Gpu::~Gpu() {
    if (context_ == nullptr) return;
    {
        const ContextScope scope = enter();
        for (CUevent event : ours_) (void)driver_.event_destroy(event);
    }
    theirs_.reset();
    (void)driver_.primary_context_release(device_);
}

Result<> Gpu::adopt_events(std::span<const std::byte> theirs) {
    if (theirs.size() != ours_.size() * sizeof(CUipcEventHandle))
        return make_error(ErrorKind::corrupt, "the daemon sent {} bytes of events for {} slots",
                          theirs.size(), ours_.size());
    const ContextScope scope = enter();
    auto opened = std::make_shared<Waiting>(driver_, context_);
    for (size_t slot = 0; slot < ours_.size(); ++slot) {
        CUipcEventHandle handle{};
        std::memcpy(&handle, theirs.data() + slot * sizeof(handle), sizeof(handle));
        PACE_TRY(opened->open(handle));
    }
    theirs_ = std::move(opened);
    return {};
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

GpuMemory::~GpuMemory() {
    if (address_ == 0 || own_) return;
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

Result<> Gpu::record(uint32_t slot, CUstream stream) {
    const ContextScope scope = enter();
    PACE_TRY(check_stream(stream));
    return check(driver_.event_record(ours_.at(slot), stream), "mark a place in a stream");
}

Result<> Gpu::await_on(uint32_t slot, CUstream stream) {
    const ContextScope scope = enter();
    PACE_TRY(check_stream(stream));
    return check(driver_.stream_wait_event(stream, theirs_->at(slot), 0), "make a stream wait");
}

Result<bool> Gpu::has_come(uint32_t slot) {
    const ContextScope scope = enter();
    const CUresult state = driver_.event_query(theirs_->at(slot));
    if (state == kNotReady) return false;
    PACE_TRY(check(state, "the GPU failed"));
    return true;
}

}  // namespace pace::client
