// DeviceMemory: device memory for tests and benchmarks, and blocking copies to and from it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace pace::kernels::cuda {

// at() is null if the allocation failed.
class DeviceMemory {
  public:
    explicit DeviceMemory(size_t bytes) : bytes_(bytes) {
        if (cudaMalloc(&memory_, bytes > 0 ? bytes : 1) != cudaSuccess) memory_ = nullptr;
        (void)cudaGetLastError();
    }
    ~DeviceMemory() { (void)cudaFree(memory_); }
    DeviceMemory(DeviceMemory&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
    DeviceMemory& operator=(DeviceMemory&&) = delete;

    size_t bytes() const { return bytes_; }

    // Returns the address `offset` elements behind the start. The start is aligned to 256 bytes.
    template <typename Element = std::byte>
    Element* at(size_t offset = 0) const {
        return static_cast<Element*>(memory_) + offset;
    }

  private:
    void* memory_ = nullptr;
    size_t bytes_;
};

template <typename Element>
bool upload(Element* to, std::span<const Element> from) {
    return cudaMemcpy(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice) == cudaSuccess;
}

// Returns an empty vector if the copy failed.
template <typename Element>
std::vector<Element> download(const Element* from, size_t count) {
    std::vector<Element> to(count);
    if (cudaMemcpy(to.data(), from, count * sizeof(Element), cudaMemcpyDeviceToHost) != cudaSuccess)
        to.clear();
    return to;
}

}  // namespace pace::kernels::cuda
