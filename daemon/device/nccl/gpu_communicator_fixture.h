// GpuCommunicator test fixture: processes with simulated GPUs and NCCL, and operations on them.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/device/device_memory.h"
#include "daemon/device/nccl/gpu_communicator.h"
#include "tests/simulated_gpu/simulated_gpu.h"
#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::device {

using base::ErrorKind;
using base::make_error;
using base::Result;
using std::chrono::milliseconds;
using std::chrono::minutes;

// As in plugin.h.
enum DType : uint32_t { kF32 = 1, kF64 = 2, kF16 = 3, kBf16 = 4 };

// Runs a test in a process with `count` GPUs and these faults.
inline void with_gpus(int count, const std::string& nccl_faults,
                      const std::function<void()>& test) {
    simulated_gpu::apart(
        {{"PACE_SIMULATED_GPUS", std::to_string(count)}, {"PACE_SIMULATED_NCCL_FAIL", nccl_faults}},
        [&] {
            simulated_gpu::use_simulated_nccl();
            test();
        });
}

// A callback that records its result.
struct Outcome {
    std::optional<Result<>> result;

    GpuCommunicator::Callback callback() {
        return [this](const Result<>& told) {
            EXPECT_FALSE(result) << "called twice";
            result = told;
        };
    }
    bool failed(ErrorKind kind) const { return result && !*result && result->error().kind == kind; }
    std::string text() const {
        return !result ? "nothing came" : *result ? "success" : result->error().message;
    }
};

// The GPUs of this process, each with a stream and some memory.
class Gpus {
  public:
    Gpus() {
        auto made = base::EventLoop::create();
        EXPECT_TRUE(made);
        loop = std::move(*made);
        int count = 0;
        EXPECT_EQ(simulated_gpu::driver().device_get_count(&count), base::cuda::kSuccess);
        for (int i = 0; i < count; ++i) {
            auto facts = facts_of(simulated_gpu::driver(), i);
            auto context =
                PrimaryContext::retain(simulated_gpu::driver(), facts->ordinal, facts->id());
            auto device = Device::open(simulated_gpu::driver(), *facts, std::move(*context), *loop);
            auto memory = DeviceMemory::create(**device, 4096);
            streams.push_back(*(*device)->create_stream());
            memories.push_back(std::move(*memory));
            devices.push_back(std::move(*device));
        }
    }

    void turn_until(const std::function<bool()>& reached) const {
        while (!reached()) loop->turn(true);
    }
    void await(const Outcome& outcome) const {
        turn_until([&] { return outcome.result.has_value(); });
    }
    // Blocks until all that is on the streams has run.
    void drain_streams() const {
        for (size_t i = 0; i < devices.size(); ++i) {
            const auto scope = devices[i]->enter();
            EXPECT_EQ(simulated_gpu::driver().stream_synchronize(streams[i]), base::cuda::kSuccess);
        }
    }

    // Begins a communicator with these local ranks, each on the device of the same number.
    std::shared_ptr<GpuCommunicator> begin(const GroupId& id, uint32_t world,
                                           const std::vector<uint32_t>& ranks, Outcome& ready,
                                           base::Duration deadline = minutes(1)) const {
        std::vector<GpuCommunicator::Rank> here;
        for (const uint32_t rank : ranks) here.push_back({devices[rank].get(), rank});
        return GpuCommunicator::create(*loop, **NcclLibrary::get(), id, world, here, deadline,
                                       ready.callback());
    }
    // Makes one communicator of all GPUs, or several together.
    std::shared_ptr<GpuCommunicator> make() const {
        std::vector<uint32_t> all;
        while (all.size() < devices.size()) all.push_back(static_cast<uint32_t>(all.size()));
        return make({all}).front();
    }
    std::vector<std::shared_ptr<GpuCommunicator>> make(
        const std::vector<std::vector<uint32_t>>& parts) const {
        const auto id = make_group_id();
        EXPECT_TRUE(id) << id.error().message;
        std::vector<std::shared_ptr<GpuCommunicator>> made;
        std::vector<Outcome> ready(parts.size());
        for (size_t i = 0; i < parts.size(); ++i)
            made.push_back(begin(*id, static_cast<uint32_t>(devices.size()), parts[i], ready[i]));
        for (const Outcome& one : ready) {
            await(one);
            EXPECT_TRUE(*one.result) << one.text();
        }
        return made;
    }

    // Writes to a GPU's memory from `at` on, in the order of its stream.
    template <typename Element>
    void write(size_t gpu, size_t at, const std::vector<Element>& values) {
        const auto scope = devices[gpu]->enter();
        auto& kept = written_.emplace_back(values.size() * sizeof(Element));
        std::memcpy(kept.data(), values.data(), kept.size());
        EXPECT_EQ(simulated_gpu::driver().copy_to_device(memories[gpu].address() + at, kept.data(),
                                                         kept.size(), streams[gpu]),
                  base::cuda::kSuccess);
    }
    template <typename Element>
    std::vector<Element> read(size_t gpu, size_t at, size_t count) const {
        std::vector<Element> values(count);
        const auto scope = devices[gpu]->enter();
        EXPECT_EQ(simulated_gpu::driver().copy_to_host(values.data(), memories[gpu].address() + at,
                                                       count * sizeof(Element), streams[gpu]),
                  base::cuda::kSuccess);
        EXPECT_EQ(simulated_gpu::driver().stream_synchronize(streams[gpu]), base::cuda::kSuccess);
        return values;
    }
    GpuCommunicator::Segment segment(size_t gpu, size_t at, uint64_t count, uint32_t type) const {
        return {reinterpret_cast<void*>(memories[gpu].address() + at), count, type};
    }
    // A share with one segment, at the beginning of the memory.
    GpuCommunicator::Share share(size_t gpu, uint64_t count = 3, uint32_t type = kF32) const {
        return {streams[gpu], {segment(gpu, 0, count, type)}};
    }
    void sum(GpuCommunicator& communicator, const std::vector<size_t>& gpus, Outcome& ended) const {
        std::vector<GpuCommunicator::Share> shares;
        for (const size_t gpu : gpus) shares.push_back(share(gpu));
        communicator.sum(shares, ended.callback());
    }

    std::unique_ptr<base::EventLoop> loop;
    std::vector<std::unique_ptr<Device>> devices;
    std::vector<base::cuda::CUstream> streams;
    std::vector<DeviceMemory> memories;

  private:
    // Kept alive, since the stream copies them later.
    std::vector<std::vector<std::byte>> written_;
};

inline const base::Error& why() {
    static const base::Error error = make_error(ErrorKind::canceled, "the test gives up");
    return error;
}

// Two GPUs whose communicators have summed once. The next sum of one then gets onto its stream
// without the other.
struct Pair {
    Pair() : parts(gpus.make({{0}, {1}})) {
        std::vector<Outcome> ended(2);
        for (size_t i = 0; i < 2; ++i) gpus.sum(*parts[i], {i}, ended[i]);
        for (const Outcome& one : ended) {
            gpus.await(one);
            EXPECT_TRUE(*one.result) << one.text();
        }
    }
    Gpus gpus;
    std::vector<std::shared_ptr<GpuCommunicator>> parts;
};

}  // namespace pace::device
