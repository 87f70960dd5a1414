// Driver type tests: compare base/cuda/cuda_driver.h with the driver's own header and the names in
// its library.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "base/cuda/cuda_driver.h"

namespace pace::kernels::cuda {
namespace {

namespace ours = base::cuda;

static_assert(sizeof(ours::CUresult) == sizeof(::CUresult));
static_assert(sizeof(ours::CUdevice) == sizeof(::CUdevice));
static_assert(sizeof(ours::CUdeviceptr) == sizeof(::CUdeviceptr));
static_assert(sizeof(ours::CUmemGenericAllocationHandle) == sizeof(::CUmemGenericAllocationHandle));
static_assert(sizeof(ours::CUuuid) == sizeof(::CUuuid));
static_assert(sizeof(ours::CUipcEventHandle) == sizeof(::CUipcEventHandle));
static_assert(sizeof(ours::CUipcMemHandle) == sizeof(::CUipcMemHandle));
static_assert(sizeof(ours::CUmemLocation) == sizeof(::CUmemLocation));
static_assert(sizeof(ours::CUmemAllocationProp) == sizeof(::CUmemAllocationProp));
static_assert(sizeof(ours::CUmemAccessDesc) == sizeof(::CUmemAccessDesc));

static_assert(offsetof(ours::CUmemLocation, id) == offsetof(::CUmemLocation, id));
static_assert(offsetof(ours::CUmemAllocationProp, requestedHandleTypes) ==
              offsetof(::CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(ours::CUmemAllocationProp, location) ==
              offsetof(::CUmemAllocationProp, location));
static_assert(offsetof(ours::CUmemAllocationProp, win32HandleMetaData) ==
              offsetof(::CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(ours::CUmemAllocationProp, allocFlags) ==
              offsetof(::CUmemAllocationProp, allocFlags));
static_assert(offsetof(ours::CUmemAccessDesc, flags) == offsetof(::CUmemAccessDesc, flags));

static_assert(ours::kSuccess == CUDA_SUCCESS);
static_assert(ours::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(ours::kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(ours::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(ours::kCaptureUnsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(ours::kCaptureInvalidated == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
static_assert(ours::kCaptureImplicit == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(ours::kCaptureNone == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(ours::kCaptureGlobal == CU_STREAM_CAPTURE_MODE_GLOBAL);
static_assert(ours::kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(ours::kAllocationPinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(ours::kHandleFd == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(ours::kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(ours::kAccessReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(ours::kGranularityMinimum == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(ours::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(ours::kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(ours::kEventInterprocess == CU_EVENT_INTERPROCESS);
static_assert(ours::kRegisterPortable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(ours::kIpcLazyPeerAccess == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
static_assert(ours::kAttributeComputeMode == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
static_assert(ours::kComputeModeProhibited == CU_COMPUTEMODE_PROHIBITED);
static_assert(ours::kComputeModeExclusive == CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
static_assert(ours::kIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(ours::kAttributeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(ours::kAttributeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(ours::kAttributeVirtualMemory ==
              CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
static_assert(ours::kAttributeMemoryFd ==
              CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
static_assert(ours::kAttributeIpcEvents == CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
static_assert(ours::kAttributeStreamWords == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
static_assert(ours::kRegisterMapped == CU_MEMHOSTREGISTER_DEVICEMAP);
static_assert(ours::kWaitValueAtLeast == CU_STREAM_WAIT_VALUE_GEQ);
static_assert(ours::kNotSupported == CUDA_ERROR_NOT_SUPPORTED);

// The toolkit has a stub library for linking. The stub has the driver's names.
TEST(DriverTypes, EveryFunctionHasItsNameInTheDriver) {
    void* library = dlopen(PACE_CUDA_DRIVER_STUB, RTLD_NOW | RTLD_LOCAL);  // CMake gives the path
    if (library == nullptr) GTEST_SKIP() << dlerror();
#define PACE_EXPECT_NAME(name, symbol, parameters) \
    EXPECT_NE(dlsym(library, symbol), nullptr) << symbol;
    PACE_CUDA_ALL_FUNCTIONS(PACE_EXPECT_NAME)
#undef PACE_EXPECT_NAME
    dlclose(library);
}

}  // namespace
}  // namespace pace::kernels::cuda
