// Gpu: one of this process's GPUs, as a session uses it: memory that the daemon has made there, and the order between the trainer's
// streams and the daemon's. Not thread-safe, but for what says so: the session locks.
//
// The driver is opened at run time (base/cuda_driver.h); the device's primary context is what CUDA's runtime, PyTorch and JAX use, too.
// For each slot of the session's requests there are two events: ours, recorded behind the work that makes the data, for which the
// daemon's stream waits; and the daemon's, recorded behind the result, for which our streams and threads wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cuda_driver.h"
#include "base/cuda_mapping.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::client {

class Gpu;

// How another process finds memory of this one's on a GPU.
struct LentMemory {
    base::cuda::CUipcMemHandle handle{};  // of the block
    uint64_t offset = 0;                  // there
};

// Memory on a GPU that the daemon has, too: it has made it, and it is mapped here; or it is the trainer's own. A descriptor keeps it alive when the
// daemon is gone.
class GpuMemory {
  public:
    ~GpuMemory();
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;

    void* data() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(address_)); }
    int fd() const { return descriptor_.get(); }  // -1: it goes with the daemon
    Gpu& gpu() const { return *gpu_; }
    // Of the trainer's own memory without a descriptor: how another process finds it. Empty: it is not such.
    std::span<const std::byte> handle() const {
        if (!own_) return {};
        return std::as_bytes(std::span(&own_->handle, 1));
    }
    uint64_t offset() const { return own_ ? own_->offset : 0; }
    // Whether a daemon that is new can be given it.
    bool outlives_daemon() const { return fd() >= 0 || own_; }

  private:
    friend class Gpu;

    explicit GpuMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

    std::shared_ptr<Gpu> gpu_;
    base::UniqueFd descriptor_;
    base::cuda::CUdeviceptr address_ = 0;
    std::optional<base::cuda::CudaMapping> mapping_;  // none: it came as a handle, or is `own_`
    std::optional<LentMemory> own_;
};

class Gpu : public std::enable_shared_from_this<Gpu> {
  public:
    // The device of this number, as this process counts them (CUDA_VISIBLE_DEVICES). Fails with `not_found` and the reason if
    // there is no driver, `invalid` if there is no such device.
    static base::Result<std::shared_ptr<Gpu>> open(uint32_t ordinal, uint32_t slots);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    uint32_t ordinal() const { return ordinal_; }
    std::span<const std::byte> uuid() const { return std::as_bytes(std::span(&uuid_, 1)); }

    // The daemon's memory, by its descriptor or by its handle; `bytes` as the daemon says.
    base::Result<std::unique_ptr<GpuMemory>> map(base::UniqueFd descriptor, size_t bytes);
    base::Result<std::unique_ptr<GpuMemory>> map(std::span<const std::byte> handle);

    // The trainer's own: exported as a descriptor, of which this has its own then, or at a device pointer. Fails with `invalid` for what is
    // none, or, of a pointer, not of this device, or less than `bytes`, or memory that no other process can open.
    base::Result<std::unique_ptr<GpuMemory>> share(int descriptor, size_t bytes);
    base::Result<std::unique_ptr<GpuMemory>> share(const void* pointer, size_t bytes);

    // Ours, for the daemon; and the daemon's, in place of those of a daemon that is gone.
    std::span<const std::byte> events() const { return std::as_bytes(std::span(handles_)); }
    base::Result<> adopt_events(std::span<const std::byte> theirs);

    // The slot's request follows what is queued on the stream by now. Fails with `invalid` if it is of another device.
    base::Result<> record(uint32_t slot, base::cuda::CUstream stream);
    // The stream goes on when the slot's result is there.
    base::Result<> await_on(uint32_t slot, base::cuda::CUstream stream);
    base::Result<bool> has_come(uint32_t slot);

    // Which daemon's events these are: others after adopt_events().
    class Waiting;
    std::shared_ptr<const Waiting> daemon_events() const { return theirs_; }

  private:
    friend class GpuMemory;
    Gpu(const base::cuda::CudaDriver& driver, uint32_t ordinal)
        : driver_(driver), ordinal_(ordinal) {}

    base::cuda::ContextScope enter() const { return {driver_, context_}; }
    base::Result<> make_events(uint32_t slots);
    base::Result<> check_stream(base::cuda::CUstream stream) const;

    const base::cuda::CudaDriver& driver_;
    const uint32_t ordinal_;
    base::cuda::CUdevice device_ = 0;
    base::cuda::CUuuid uuid_{};
    base::cuda::CUcontext context_ = nullptr;
    std::vector<base::cuda::CUevent> ours_;
    std::vector<base::cuda::CUipcEventHandle> handles_;
    std::shared_ptr<const Waiting> theirs_;  // null: not shared yet
};

}  // namespace pace::client
