// The common parts of the tests of small buffers on GPUs, which share blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/cluster/harness/raw_client.h"
#include "tests/cluster/trainers/gpu_fixture.h"

namespace pace::cluster {

inline constexpr int64_t kBlock = int64_t{2} << 20U;
inline constexpr uint64_t kSmallFloats = 16384;  // 64 KiB
inline constexpr size_t kManySmall = 256;        // 16 MiB

class GpuBlocks : public Gpu {
  protected:
    void SetUp() override {
        Gpu::SetUp();
        if (IsSkipped()) return;
        // Only GPUs with virtual memory have blocks.
        int exports = 0;
        (void)TestGpu::driver().device_get_attribute(&exports, base::cuda::kAttributeMemoryFd, 0);
        if (exports == 0) GTEST_SKIP() << "this GPU exports no descriptors of its memory";
    }

    static int64_t free_bytes(Cluster& cluster, size_t node) {
        return number_in(cluster.pacectl(node, {"daemon", "--json"}), "free_bytes");
    }
    // Waits until so many blocks less are free than at first, when `all` was: the daemon gives
    // memory back in a thread. A real GPU has other users, and its driver takes memory of its own.
    static void expect_used(Cluster& cluster, size_t node, int64_t all, int64_t blocks) {
#ifdef PACE_SIMULATED_GPU_FOLDER
        const int64_t tolerance = 0;
#else
        const int64_t tolerance = 2 * kBlock;
#endif
        const auto is_so = [&] {
            const int64_t off = all - blocks * kBlock - free_bytes(cluster, node);
            return off <= tolerance && off >= -tolerance;
        };
        const Deadline end = soon();
        while (!is_so() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        EXPECT_TRUE(is_so()) << all - free_bytes(cluster, node) << " bytes are in use";
    }
    static void add_many(GpuWorker& worker, size_t buffers = kManySmall) {
        for (size_t i = 0; i < buffers; ++i)
            ASSERT_NE(worker.add_buffer(PACE_F32, kSmallFloats), nullptr) << worker.error().message;
    }
    static pace_status free_one(GpuWorker& worker, size_t index) {
        return pace_buffer_free(worker.session(), worker.buffer(index), nullptr);
    }
    static bool is_restored(GpuWorker& worker, size_t index) {
        pace_buffer_info info = PACE_BUFFER_INFO_INIT;
        EXPECT_EQ(pace_buffer_get_info(worker.session(), worker.buffer(index), &info, nullptr),
                  PACE_OK);
        return (info.flags & PACE_BUFFER_RESTORED) != 0;
    }
    static void* data_of(GpuWorker& worker, size_t index) {
        pace_buffer_info info = PACE_BUFFER_INFO_INIT;
        EXPECT_EQ(pace_buffer_get_info(worker.session(), worker.buffer(index), &info, nullptr),
                  PACE_OK);
        return info.data;
    }
    static std::vector<std::string> with_limit(const char* client_bytes_max) {
        std::vector<std::string> all = flags();
        all.insert(all.end(), {"--client-bytes-max", client_bytes_max});
        return all;
    }
    // The client's limit has room for this number of small buffers, and for no more.
    static void expect_room_for(RawClient& client, size_t buffers) {
        RawClient::GpuWish wish{
            .device = number_of_gpu(), .count = kSmallFloats, .takes_place = true};
        for (size_t i = 0; i < buffers; ++i)
            ASSERT_TRUE(client.create_gpu_buffer(wish)) << i << " " << client.refusal();
        EXPECT_FALSE(client.create_gpu_buffer(wish));
    }
    static std::vector<uint8_t> number_of_gpu() {
        base::cuda::CUuuid uuid{};
        EXPECT_EQ(TestGpu::driver().device_get_uuid(&uuid, 0), base::cuda::kSuccess);
        std::vector<uint8_t> bytes(sizeof(uuid));
        std::memcpy(bytes.data(), &uuid, sizeof(uuid));
        return bytes;
    }
};

}  // namespace pace::cluster
