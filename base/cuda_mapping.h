// CudaMapping: memory of a GPU at addresses of this process, while it lives: what its maker and whoever got a descriptor of it do alike.
#pragma once

#include <cstddef>
#include <utility>

#include "base/cuda_driver.h"

namespace pace::base::cuda {

// So many bytes of memory of this device that can be exported as a descriptor, as it allocates them.
CUmemAllocationProp exportable_on(CUdevice device);
Result<size_t> rounded_for(const CudaDriver& driver, CUdevice device, size_t bytes);

class CudaMapping {
  public:
    // The allocation may be released afterwards: what is mapped stays.
    static Result<CudaMapping> map(const CudaDriver& driver, CUdevice device,
                                   CUmemGenericAllocationHandle allocation, size_t bytes);
    // What somebody has exported as a descriptor; of so many bytes, as the device rounds them.
    static Result<CudaMapping> import(const CudaDriver& driver, CUdevice device, int descriptor,
                                      size_t bytes);
    CudaMapping(CudaMapping&& other) noexcept
        : driver_(other.driver_),
          address_(std::exchange(other.address_, 0)),
          bytes_(other.bytes_),
          mapped_(other.mapped_) {}
    CudaMapping& operator=(CudaMapping&& other) noexcept {
        std::swap(driver_, other.driver_);
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        std::swap(mapped_, other.mapped_);
        return *this;
    }
    ~CudaMapping();

    CUdeviceptr address() const { return address_; }
    size_t bytes() const { return bytes_; }

  private:
    CudaMapping(const CudaDriver& driver, size_t bytes) : driver_(&driver), bytes_(bytes) {}

    const CudaDriver* driver_;
    CUdeviceptr address_ = 0;
    size_t bytes_;
    bool mapped_ = false;
};

}  // namespace pace::base::cuda
