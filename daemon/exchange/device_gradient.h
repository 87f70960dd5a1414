// DeviceGradient: the residual of a top-k reduction, and the gradient that is cut, in the memory of a GPU. What is chosen, received
// and put back passes through the host, a few elements of many; the rest never does.
//
//     members' buffers ─┐
//     residual ─────────┴─ sum ─▶ gradient ─ top-k ─▶ entries ─▶ host ⇄ other nodes
//                                    ▲                              │
//                                    └── gather, scatter ───────────┴─ scatter ─▶ result
//
// Bit for bit what the host would do: the kernels' oracles are its own functions. Made, begun, ended and destroyed in the loop's
// thread. In between a thread of the pool uses it, and waits for the GPU. The loop does only to conclude an exchange that failed
// here, and when somebody asks for the residual or inherits it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"
#include "daemon/device/device_memory.h"
#include "daemon/exchange/device_sum.h"
#include "daemon/exchange/scratch.h"
#include "daemon/sparse/gradient_store.h"
#include "daemon/sparse/packed.h"
#include "daemon/sparse/residual.h"

namespace pace::daemon {

// Copies a residual, wherever it is; what a GPU does not give back is lost, zero here, and said. Blocks.
void read_owed(const sparse::Residual& residual, std::span<float> ret_values);

class DeviceGradient final : public sparse::FarGradient {
  public:
    // Of `count` elements, of which at most `chosen_max` are chosen from a block. The kernels stay loaded.
    static base::Result<std::shared_ptr<DeviceGradient>> create(
        device::Device& device, const pace_device_plugin_table& kernels, size_t count,
        size_t chosen_max);
    ~DeviceGradient() override;
    DeviceGradient(const DeviceGradient&) = delete;
    DeviceGradient& operator=(const DeviceGradient&) = delete;

    // Whether it serves an exchange there, of so many elements.
    bool fits(const device::Device& device, size_t count, size_t chosen_max) const {
        return &device == &device_ && count == count_ && chosen_max <= entries_max_;
    }
    // Takes the memory, and the residual into it. Once, before all else, in a thread of the pool.
    base::Result<> allocate(std::span<const float> residual);

    // An exchange among these members, whose buffers lie on this device as `layout` says; `result` has layout.bytes().
    base::Result<> begin(std::vector<DeviceMember> members, const collectives::Layout& layout,
                         std::shared_ptr<device::DeviceMemory> result);
    // Its buffers stay until what is queued has ended: who is given up in the middle awaits nothing.
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

    // Whether the GPU is waited for, or works for an exchange, right now. Any thread.
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
    size_t entries_max_;  // that pass at once
    base::cuda::CUstream stream_ = nullptr;
    std::optional<device::DeviceMemory> memory_;  // what follows lies in it
    base::cuda::CUdeviceptr residual_ = 0;
    base::cuda::CUdeviceptr gradient_ = 0;
    base::cuda::CUdeviceptr indices_ = 0;
    base::cuda::CUdeviceptr values_ = 0;  // of up to 8 bytes
    base::cuda::CUdeviceptr chosen_ = 0;  // how many were
    base::cuda::CUdeviceptr own_ = 0;     // a tile of the members' sum in its own type
    base::cuda::CUdeviceptr single_ = 0;  // and in f32
    base::cuda::CUdeviceptr workspace_ = 0;
    size_t workspace_bytes_ = 0;
    Scratch staging_;  // pinned: what passes, but for read(), which the loop may call meanwhile
    std::shared_ptr<Run> run_;
    base::Result<> status_;
    std::atomic<int> working_ = 0;
};

}  // namespace pace::daemon
