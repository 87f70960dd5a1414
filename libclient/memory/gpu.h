// Gpu: one of this process's GPUs, as a session uses the GPU. A Gpu maps memory that the daemon has
// made there, and keeps the order between the trainer's streams and the daemon's streams. A Gpu is
// not thread-safe except where a comment says so: the session locks.
//
// The driver is opened at run time (base/cuda/cuda_driver.h). The Gpu uses the device's primary
// context, which CUDA's runtime, PyTorch and JAX use, too. A GpuOrder keeps the order, a new one
// for each daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/cuda/cuda_driver.h"
#include "base/cuda/cuda_mapping.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "libclient/memory/gpu_events.h"
#include "libclient/memory/gpu_order.h"
#include "libclient/memory/gpu_words.h"

namespace pace::client {

class Gpu;

// What another process needs to open memory of this process on a GPU.
struct LentMemory {
    base::cuda::CUipcMemHandle handle{};  // of the block
    uint64_t offset = 0;                  // of the memory in the block, in bytes
};

// Where the daemon has placed a small buffer: in a block, which has one descriptor and is mapped
// once for all buffers there.
struct GpuPlace {
    uint64_t block = 0;  // the block's number; numbers begin with 1
    uint64_t block_bytes = 0;
    uint64_t offset = 0;
};

// Memory on a GPU that the daemon can use, too. Either the daemon has made the memory and this
// process maps it, or the memory is the trainer's own. A descriptor keeps the memory alive when the
// daemon is gone.
class GpuMemory {
  public:
    // Unmaps; a block is unmapped with the last memory there. Blocks until the work that this
    // process has queued on the GPU by now has ended.
    ~GpuMemory();
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;

    void* data() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(address_)); }
    // -1 means that there is no descriptor. Memory in a block has that of its block.
    int fd() const { return block_ ? block_->fd() : descriptor_.get(); }
    Gpu& gpu() const { return *gpu_; }
    // For the trainer's own memory without a descriptor: the handle by which another process opens
    // the memory. Empty for any other memory.
    std::span<const std::byte> handle() const {
        if (!own_) return {};
        return std::as_bytes(std::span(&own_->handle, 1));
    }
    // Where the memory begins in the block that the handle names, or in its place's block.
    uint64_t offset() const { return own_ ? own_->offset : place_.offset; }
    bool is_in_block() const { return block_ != nullptr; }
    const GpuPlace& place() const { return place_; }
    // Blocks until the work that this process has queued on the GPU by now has ended.
    void settle() const;
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
    std::shared_ptr<const GpuMemory> block_;  // the whole block in which the memory lies
    GpuPlace place_;                          // if there is a block
};

class Gpu : public std::enable_shared_from_this<Gpu> {
  public:
    // Opens the device with this number, as this process counts the devices (CUDA_VISIBLE_DEVICES).
    // Fails with `not_found` and the reason if there is no driver. Fails with `invalid` if there is
    // no such device.
    static base::Result<std::shared_ptr<Gpu>> open(uint32_t ordinal);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    uint32_t ordinal() const { return ordinal_; }
    std::span<const std::byte> uuid() const { return std::as_bytes(std::span(&uuid_, 1)); }

    // Maps the daemon's memory, by its descriptor or by its handle. The daemon tells the number
    // `bytes`.
    base::Result<std::unique_ptr<GpuMemory>> map(base::UniqueFd descriptor, size_t bytes);
    base::Result<std::unique_ptr<GpuMemory>> map(std::span<const std::byte> handle);
    // Returns memory in a block. The descriptor is the block's if this is the first place there;
    // otherwise it is not valid. Fails with `corrupt` if the block is not known, or if it does not
    // have so many bytes at the place, aligned for elements of `element_bytes`.
    base::Result<std::unique_ptr<GpuMemory>> map(const GpuPlace& place, base::UniqueFd descriptor,
                                                 size_t bytes, size_t element_bytes);

    // Takes the trainer's own memory, which is exported as a descriptor or lies at a device
    // pointer. The GpuMemory keeps its own duplicate of the descriptor. Fails with `invalid` if the
    // descriptor or pointer names no such memory. A pointer also fails if its memory is of another
    // device, has less than `bytes`, or cannot be opened by another process.
    base::Result<std::unique_ptr<GpuMemory>> share(int descriptor, size_t bytes);
    base::Result<std::unique_ptr<GpuMemory>> share(const void* pointer, size_t bytes);

    // Makes our half of an order with a daemon. The connection gives it to the daemon.
    base::Result<std::shared_ptr<GpuWords>> make_words(uint32_t slots) const;
    base::Result<std::shared_ptr<GpuEvents>> make_events(uint32_t slots) const;
    // The order with the session's daemon; null before the first. The pointer tells which daemon it
    // belongs to. A new order takes the place of that with a daemon that is gone.
    std::shared_ptr<const GpuOrder> order() const { return order_; }
    void set_order(std::shared_ptr<GpuOrder> order) { order_ = std::move(order); }
    // Streams that wait for the daemon go on.
    void release_streams();

    // The request in this slot follows the work that is queued on the stream by now. Fails with
    // `invalid` if the stream is of another device, or is captured into a graph: a capture runs
    // nothing, so the data would not be there. Fails with `closed` if this process's context has
    // failed for good; so do await_on() and has_come().
    base::Result<> record(uint32_t slot, uint64_t request, base::cuda::CUstream stream);
    void submitted(uint32_t slot, uint64_t request) { order_->submitted(slot, request); }
    // The stream goes on when the request has ended. Returns false if the stream cannot wait yet:
    // ask again soon.
    base::Result<bool> await_on(uint32_t slot, uint64_t request, base::cuda::CUstream stream);
    // Whether the result is there.
    base::Result<bool> has_come(uint32_t slot, uint64_t request);
    // Whether a stream can wait for a request that is in flight.
    bool holds_streams() const { return order_->holds_streams(); }

  private:
    friend class GpuMemory;
    Gpu(const base::cuda::CudaDriver& driver, uint32_t ordinal)
        : driver_(driver), ordinal_(ordinal) {}

    base::cuda::ContextScope enter() const { return {driver_, context_}; }
    base::Result<std::shared_ptr<const GpuMemory>> block_of(const GpuPlace& place,
                                                            base::UniqueFd descriptor);
    base::Result<> check(base::cuda::CUresult result, std::string_view what) const;
    base::Result<> check_stream(base::cuda::CUstream stream) const;
    base::Result<> check_device(base::cuda::CUstream stream) const;

    const base::cuda::CudaDriver& driver_;
    const uint32_t ordinal_;
    base::cuda::CUdevice device_ = 0;
    base::cuda::CUuuid uuid_{};
    base::cuda::CUcontext context_ = nullptr;
    std::shared_ptr<GpuOrder> order_;
    // The blocks by number, as long as there is memory in them.
    std::map<uint64_t, std::weak_ptr<const GpuMemory>> blocks_;
};

}  // namespace pace::client
