// CudaMapping: maps memory of a GPU at addresses of this process as long as the object lives. The
// process that allocated the memory uses it, and so does a process that received a descriptor of
// the memory.
#pragma once

#include <cstddef>
#include <utility>

#include "base/cuda/cuda_driver.h"

namespace pace::base::cuda {

// The properties of an allocation on `device` that can be exported as a descriptor.
CUmemAllocationProp exportable_on(CUdevice device);
Result<size_t> rounded_for(const CudaDriver& driver, CUdevice device, size_t bytes);

class CudaMapping {
  public:
    // The caller may release `allocation` afterwards: the mapping stays.
    static Result<CudaMapping> map(const CudaDriver& driver, CUdevice device,
                                   CUmemGenericAllocationHandle allocation, size_t bytes);
    // Maps memory that another process exported as a descriptor. The mapping has `bytes` bytes,
    // rounded up as the device requires.
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
