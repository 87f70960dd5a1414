#include "base/cuda/cuda_mapping.h"

#include <cstdint>

namespace pace::base::cuda {

CUmemAllocationProp exportable_on(CUdevice device) {
    CUmemAllocationProp properties{};
    properties.type = kAllocationPinned;
    properties.requestedHandleTypes = kHandleFd;
    properties.location = {kLocationDevice, device};
    return properties;
}

Result<size_t> rounded_for(const CudaDriver& driver, CUdevice device, size_t bytes) {
    const CUmemAllocationProp wanted = exportable_on(device);
    size_t step = 0;
    PACE_TRY(driver.check(driver.mem_granularity(&step, &wanted, kGranularityMinimum),
                          "ask how a GPU allocates"));
    return (bytes + step - 1) / step * step;
}

Result<CudaMapping> CudaMapping::map(const CudaDriver& driver, CUdevice device,
                                     CUmemGenericAllocationHandle allocation, size_t bytes) {
    CudaMapping mapping(driver, bytes);
    PACE_TRY(driver.check(driver.mem_reserve(&mapping.address_, bytes, 0, 0, 0),
                          "find addresses for a GPU"));
    PACE_TRY(driver.check(driver.mem_map(mapping.address_, bytes, 0, allocation, 0),
                          "map memory of a GPU"));
    mapping.mapped_ = true;
    const CUmemAccessDesc access{{kLocationDevice, device}, kAccessReadWrite};
    PACE_TRY(driver.check(driver.mem_set_access(mapping.address_, bytes, &access, 1),
                          "get access to memory of a GPU"));
    return mapping;
}

Result<CudaMapping> CudaMapping::import(const CudaDriver& driver, CUdevice device, int descriptor,
                                        size_t bytes) {
    CUmemGenericAllocationHandle allocation = 0;
    PACE_TRY(driver.check(
        driver.mem_import(&allocation, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                          kHandleFd),
        "take over memory of a GPU"));
    auto mapping = map(driver, device, allocation, bytes);
    (void)driver.mem_release(allocation);
    return mapping;
}

CudaMapping::~CudaMapping() {
    if (address_ == 0) return;
    if (mapped_) (void)driver_->mem_unmap(address_, bytes_);
    (void)driver_->mem_free_addresses(address_, bytes_);
}

}  // namespace pace::base::cuda
