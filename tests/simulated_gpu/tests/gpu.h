// The common parts of the tests of the simulated driver: a device whose context is current, and a
// gate that holds up a stream.
#pragma once

#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "base/cuda/cuda_driver.h"

namespace pace::simulated_gpu {

using namespace base::cuda;  // the driver's own names

inline const CudaDriver& driver() {
    const auto& loaded = CudaDriver::get();
    if (!loaded) ADD_FAILURE() << loaded.error().message;
    return **loaded;
}

class Gpu {
  public:
    explicit Gpu(int ordinal = 0) : ordinal_(ordinal) {
        EXPECT_EQ(driver().primary_context_retain(&context_, ordinal), kSuccess);
        EXPECT_EQ(driver().context_push(context_), kSuccess);
    }
    ~Gpu() {
        CUcontext was = nullptr;
        EXPECT_EQ(driver().context_pop(&was), kSuccess);
        EXPECT_EQ(driver().primary_context_release(ordinal_), kSuccess);
    }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    CUcontext context() const { return context_; }

    static CUstream stream() {
        CUstream made = nullptr;
        EXPECT_EQ(driver().stream_create(&made, kStreamNonBlocking), kSuccess);
        return made;
    }
    static CUevent event(unsigned flags = kEventDisableTiming) {
        CUevent made = nullptr;
        EXPECT_EQ(driver().event_create(&made, flags), kSuccess);
        return made;
    }
    // Returns accessible memory from cuMemAlloc.
    static CUdeviceptr memory(size_t bytes) {
        CUdeviceptr address = 0;
        EXPECT_EQ(driver().mem_alloc(&address, bytes), kSuccess);
        return address;
    }

  private:
    int ordinal_;
    CUcontext context_ = nullptr;
};

// pass() blocks until the gate is open. If pass() is queued on a stream, it holds up that stream.
class Gate {
  public:
    void open() {
        const std::scoped_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void pass() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
    }
    void hold(CUstream stream) {
        const auto pass_it = [](void* gate) { static_cast<Gate*>(gate)->pass(); };
        EXPECT_EQ(driver().launch_host_function(stream, pass_it, this), kSuccess);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

}  // namespace pace::simulated_gpu
