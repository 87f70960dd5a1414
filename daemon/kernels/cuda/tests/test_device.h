// OnDevice: fixture of the kernel tests. Skips a test if no device works with the plug-in.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "daemon/kernels/cuda/tests/test_memory.h"
#include "daemon/kernels/cuda/tests/test_plugin.h"

namespace pace::kernels::cuda {

class OnDevice : public testing::Test {
  protected:
    void SetUp() override {
        int devices = 0;
        const cudaError_t error = cudaGetDeviceCount(&devices);
        if (error != cudaSuccess) GTEST_SKIP() << cudaGetErrorString(error);
        if (devices == 0) GTEST_SKIP() << "no CUDA device";
        ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
        ASSERT_NE(plugin(), nullptr) << dlerror();
        if (const int unfit = plugin()->check(0); unfit != 0)
            GTEST_SKIP() << plugin()->error_text(unfit);
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    }

    void TearDown() override {
        if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
    }

    cudaStream_t stream() const { return stream_; }

    // Waits for queued work. `queued` is the return value of the plug-in's function.
    void finish(int queued) {
        ASSERT_EQ(queued, 0) << plugin()->error_text(queued);
        const cudaError_t error = cudaStreamSynchronize(stream_);
        ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
    }

  private:
    cudaStream_t stream_ = nullptr;
};

// Elements on the device, `shift` elements behind an aligned address. They stand between guard
// bytes that must not change.
template <typename Element>
class Guarded {
  public:
    Guarded(size_t count, size_t shift)
        : count_(count), shift_(shift), memory_((count + shift + kBehind) * sizeof(Element)) {
        const std::vector<std::byte> pattern(memory_.bytes(), kPattern);
        EXPECT_TRUE(upload<std::byte>(memory_.at(), pattern));
    }
    Guarded(std::span<const Element> elements, size_t shift) : Guarded(elements.size(), shift) {
        EXPECT_TRUE(upload<Element>(data(), elements));
    }

    Element* data() const { return memory_.template at<Element>(shift_); }
    std::vector<Element> elements() const { return first(count_); }
    std::vector<Element> first(size_t count) const { return download<Element>(data(), count); }

    // Returns whether nothing was written before or behind the elements.
    bool is_intact() const {
        const std::vector<Element> all =
            download<Element>(memory_.template at<Element>(), count_ + shift_ + kBehind);
        if (all.empty()) return false;
        const auto is_pattern = [&](size_t i) {
            std::byte bytes[sizeof(Element)];
            std::memcpy(bytes, &all[i], sizeof(Element));
            for (const std::byte byte : bytes)
                if (byte != kPattern) return false;
            return true;
        };
        for (size_t i = 0; i < all.size(); ++i)
            if ((i < shift_ || i >= shift_ + count_) && !is_pattern(i)) return false;
        return true;
    }

  private:
    static constexpr std::byte kPattern{0x5A};
    static constexpr size_t kBehind = 17;
    size_t count_;
    size_t shift_;
    DeviceMemory memory_;
};

// Compares the bits, NaNs included.
template <typename A, typename B>
bool is_same(const A& a, const B& b) {
    static_assert(std::is_same_v<typename A::value_type, typename B::value_type>);
    return a.size() == b.size() &&
           (a.empty() ||
            std::memcmp(a.data(), b.data(), a.size() * sizeof(typename A::value_type)) == 0);
}

}  // namespace pace::kernels::cuda
