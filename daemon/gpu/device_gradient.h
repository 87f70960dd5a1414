// DeviceGradient: the residual of a top-k reduction, and the gradient that top-k cuts, in the
// memory of a GPU. Only the few elements that are chosen, received and put back pass through the
// host.
//
//     members' buffers ─┐
//     residual ─────────┴─ sum ─▶ gradient ─ top-k ─▶ entries ─▶ host ⇄ other nodes
//                                    ▲                              │
//                                    └── gather, scatter ───────────┴─ scatter ─▶ result
//
// The results are bit for bit those of the host, whose functions are the kernels' oracles. Made,
// begun, ended and destroyed in the loop's thread. In between a thread of the pool uses the object,
// and waits for the GPU. The loop uses it only to conclude an exchange that failed here, and when
// the residual is read or inherited.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/device/device_memory.h"
#include "daemon/gpu/device_sum.h"
#include "daemon/runtime/scratch.h"
#include "daemon/sparse/residual/gradient_store.h"
#include "daemon/sparse/residual/residual.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::daemon {

// Copies a residual, wherever it is. If a GPU does not give the residual back, it is lost: the
// values are zero, and this is logged. Blocks.
void read_owed(const sparse::Residual& residual, std::span<float> ret_values);

class DeviceGradient final : public sparse::FarGradient {
  public:
    // For `count` elements, of which at most `chosen_max` are chosen from a block. The kernels stay
    // loaded.
    static base::Result<std::shared_ptr<DeviceGradient>> create(
        device::Device& device, const pace_device_plugin_table& kernels, size_t count,
        size_t chosen_max);
    ~DeviceGradient() override;
    DeviceGradient(const DeviceGradient&) = delete;
    DeviceGradient& operator=(const DeviceGradient&) = delete;

    // Whether this can serve an exchange of `count` elements on `device`.
    bool fits(const device::Device& device, size_t count, size_t chosen_max) const {
        return &device == &device_ && count == count_ && chosen_max <= entries_max_;
    }
    // Allocates the memory and copies the residual to it. Called once, first of all, in a thread of
    // the pool.
    base::Result<> allocate(std::span<const float> residual);

    // Begins an exchange among these members, whose buffers lie on this device as `layout` says.
    // `result` has layout.bytes().
    base::Result<> begin(std::vector<DeviceMember> members, const collectives::Layout& layout,
                         std::shared_ptr<device::DeviceMemory> result);
    // The exchange's buffers are kept until all queued work has ended: an exchange that is given up
    // does not wait for the GPU.
    void end();

    void form(size_t begin, size_t end) override;
    sparse::Entries top_k(size_t begin, size_t length, size_t k) override;
    void write(size_t begin, std::span<const uint32_t> indices,
               std::span<const float> values) override;
    sparse::Entries add(size_t begin, const sparse::Entries& received) override;
    void scatter_result(const sparse::Entries& entries, double scale) override;
    void swap() override { std::swap(residual_, gradient_); }
    base::Result<> read(std::span<float> ret_residual) const override;
    base::Result<> status() const override { return status_; }

    // Whether the GPU works for an exchange, or is waited for, right now. Any thread.
    bool is_working() const { return working_ > 0; }

  private:
    class Work {
      public:
        explicit Work(std::atomic<int>& working) : working_(working) { ++working_; }
        ~Work() { --working_; }
        Work(const Work&) = delete;
        Work& operator=(const Work&) = delete;

      private:
        std::atomic<int>& working_;
    };

    // The exchange under way.
    struct Run {
        std::vector<DeviceMember> members;
        collectives::Layout layout;
        sparse::Packed packed;
        std::shared_ptr<device::DeviceMemory> result;

        Run(std::vector<DeviceMember> with, const collectives::Layout& as,
            std::shared_ptr<device::DeviceMemory> to)
            : members(std::move(with)), layout(as), packed(layout), result(std::move(to)) {}
    };

    DeviceGradient(device::Device& device, const pace_device_plugin_table& kernels, size_t count,
                   size_t entries_max)
        : device_(device), kernels_(kernels), count_(count), entries_max_(entries_max) {}

    base::Result<> take_memory();
    float* floats(base::cuda::CUdeviceptr address) const;
    void note(const base::Result<>& result) {
        if (status_ && !result) status_ = result;
    }
    base::Result<> check(int failed, const char* what) const;
    base::Result<> wait() const;
    base::Result<> to_device(base::cuda::CUdeviceptr to, const void* from, size_t bytes) const;
    base::Result<> to_host(void* to, base::cuda::CUdeviceptr from, size_t bytes) const;

    base::Result<> form_piece(size_t segment, size_t first, size_t count, size_t place);
    base::Result<> form_other(size_t segment, size_t first, size_t count, size_t place);
    pace_device_sum sum_of_members(size_t segment, size_t first, size_t count, double scale) const;
    base::Result<> choose(size_t begin, size_t length, size_t k, sparse::Entries& ret_entries);
    base::Result<> put(base::cuda::CUdeviceptr out, size_t length, size_t element_bytes,
                       std::span<const uint32_t> indices, const std::byte* values);
    base::Result<> get(size_t begin, std::span<const uint32_t> indices, float* ret_values);
    base::Result<> scatter(const sparse::Entries& entries, double scale);

    device::Device& device_;
    const pace_device_plugin_table& kernels_;
    size_t count_;
    size_t entries_max_;  // at most these are copied at once
    base::cuda::CUstream stream_ = nullptr;
    std::optional<device::DeviceMemory> memory_;  // holds all of the following
    base::cuda::CUdeviceptr residual_ = 0;
    base::cuda::CUdeviceptr gradient_ = 0;
    base::cuda::CUdeviceptr indices_ = 0;
    base::cuda::CUdeviceptr values_ = 0;  // of up to 8 bytes
    base::cuda::CUdeviceptr chosen_ = 0;  // number of chosen elements
    base::cuda::CUdeviceptr own_ = 0;     // a tile of the members' sum in its own type
    base::cuda::CUdeviceptr single_ = 0;  // the tile in f32
    base::cuda::CUdeviceptr workspace_ = 0;
    size_t workspace_bytes_ = 0;
    // Pinned: for copies to and from the host, except those of read(), which the loop may call
    // meanwhile.
    Scratch staging_;
    std::shared_ptr<Run> run_;
    base::Result<> status_;
    std::atomic<int> working_ = 0;
};

}  // namespace pace::daemon
