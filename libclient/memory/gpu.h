// Gpu: one of this process's GPUs, as a session uses the GPU. A Gpu maps memory that the daemon has
// made there, and keeps the order between the trainer's streams and the daemon's streams. A Gpu is
// not thread-safe except where a comment says so: the session locks.
//
// The driver is opened at run time (base/cuda/cuda_driver.h). The Gpu uses the device's primary
// context, which CUDA's runtime, PyTorch and JAX use, too. Each slot of the session's requests has
// two events:
//  * our event is recorded behind the work that makes the data. The daemon's stream waits for it;
//  * the daemon's event is recorded behind the result. Our streams and threads wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/cuda/cuda_mapping.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::client {

class Gpu;

// What another process needs to open memory of this process on a GPU.
struct LentMemory {
    base::cuda::CUipcMemHandle handle{};  // of the block
    uint64_t offset = 0;                  // of the memory in the block, in bytes
};

// Memory on a GPU that the daemon can use, too. Either the daemon has made the memory and this
// process maps it, or the memory is the trainer's own. A descriptor keeps the memory alive when the
// daemon is gone.
class GpuMemory {
  public:
    ~GpuMemory();
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;

    void* data() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(address_)); }
    int fd() const { return descriptor_.get(); }  // -1 means that there is no descriptor
    Gpu& gpu() const { return *gpu_; }
    // For the trainer's own memory without a descriptor: the handle by which another process opens
    // the memory. Empty for any other memory.
    std::span<const std::byte> handle() const {
        if (!own_) return {};
        return std::as_bytes(std::span(&own_->handle, 1));
    }
    uint64_t offset() const { return own_ ? own_->offset : 0; }
    // Whether a new daemon can be given this memory.
    bool outlives_daemon() const { return fd() >= 0 || own_; }

  private:
    friend class Gpu;

    explicit GpuMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

    std::shared_ptr<Gpu> gpu_;
    base::UniqueFd descriptor_;
    base::cuda::CUdeviceptr address_ = 0;
    std::optional<base::cuda::CudaMapping> mapping_;  // none: a handle was opened, or `own_` is set
    std::optional<LentMemory> own_;
};

class Gpu : public std::enable_shared_from_this<Gpu> {
  public:
    // Opens the device with this number, as this process counts the devices (CUDA_VISIBLE_DEVICES).
    // Fails with `not_found` and the reason if there is no driver. Fails with `invalid` if there is
    // no such device.
    static base::Result<std::shared_ptr<Gpu>> open(uint32_t ordinal, uint32_t slots);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    uint32_t ordinal() const { return ordinal_; }
    std::span<const std::byte> uuid() const { return std::as_bytes(std::span(&uuid_, 1)); }

    // Maps the daemon's memory, by its descriptor or by its handle. The daemon tells the number
    // `bytes`.
    base::Result<std::unique_ptr<GpuMemory>> map(base::UniqueFd descriptor, size_t bytes);
    base::Result<std::unique_ptr<GpuMemory>> map(std::span<const std::byte> handle);

    // Takes the trainer's own memory, which is exported as a descriptor or lies at a device
    // pointer. The GpuMemory keeps its own duplicate of the descriptor. Fails with `invalid` if the
    // descriptor or pointer names no such memory. A pointer also fails if its memory is of another
    // device, has less than `bytes`, or cannot be opened by another process.
    base::Result<std::unique_ptr<GpuMemory>> share(int descriptor, size_t bytes);
    base::Result<std::unique_ptr<GpuMemory>> share(const void* pointer, size_t bytes);

    // events() returns our events for the daemon. adopt_events() takes the daemon's events in place
    // of the events of a daemon that is gone.
    std::span<const std::byte> events() const { return std::as_bytes(std::span(handles_)); }
    base::Result<> adopt_events(std::span<const std::byte> theirs);

    // The slot's request follows the work that is queued on the stream by now. Fails with `invalid`
    // if the stream is of another device, or is captured into a graph: a capture runs nothing, so
    // the data would not be there.
    base::Result<> record(uint32_t slot, base::cuda::CUstream stream);
    // The stream goes on when the slot's result is there.
    base::Result<> await_on(uint32_t slot, base::cuda::CUstream stream);
    // Fails with `closed` if this process's context has failed for good. The same is true of
    // record() and await_on().
    base::Result<bool> has_come(uint32_t slot);

    // The events of the daemon. adopt_events() replaces them, so the pointer tells which daemon the
    // events belong to.
    class Waiting;
    std::shared_ptr<const Waiting> daemon_events() const { return theirs_; }

  private:
    friend class GpuMemory;
    Gpu(const base::cuda::CudaDriver& driver, uint32_t ordinal)
        : driver_(driver), ordinal_(ordinal) {}

    base::cuda::ContextScope enter() const { return {driver_, context_}; }
    base::Result<> check(base::cuda::CUresult result, std::string_view what) const;
    base::Result<> make_events(uint32_t slots);
    base::Result<> check_stream(base::cuda::CUstream stream) const;
    base::Result<> check_device(base::cuda::CUstream stream) const;

    const base::cuda::CudaDriver& driver_;
    const uint32_t ordinal_;
    base::cuda::CUdevice device_ = 0;
    base::cuda::CUuuid uuid_{};
    base::cuda::CUcontext context_ = nullptr;
    std::vector<base::cuda::CUevent> ours_;
    std::vector<base::cuda::CUipcEventHandle> handles_;
    // The daemon's events. Null means that no events were exchanged yet.
    std::shared_ptr<const Waiting> theirs_;
};

}  // namespace pace::client
