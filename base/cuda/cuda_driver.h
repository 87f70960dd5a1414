// CudaDriver: the functions of NVIDIA's driver (libcuda.so.1) that Pace calls. They are looked up
// at run time.
//
// The build needs nothing of CUDA. The types below have the names, layouts and numbers of the
// driver interface (cuda.h). daemon/kernels/cuda compares them with cuda.h where a toolkit is
// installed. The library is opened once in a process and stays open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace pace::base::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUhostFn = void (*)(void*);

struct CUuuid {
    char bytes[16];
};
struct CUipcEventHandle {
    char reserved[64];
};
struct CUipcMemHandle {
    char reserved[64];
};
struct CUmemLocation {
    int type;
    int id;
};
struct CUmemAllocationProp {
    int type;
    int requestedHandleTypes;
    CUmemLocation location;
    void* win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
};
struct CUmemAccessDesc {
    CUmemLocation location;
    int flags;
};

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kNoDevice = 100;
inline constexpr CUresult kNotReady = 600;
inline constexpr CUresult kNotSupported = 801;
inline constexpr CUresult kIllegalAddress = 700;
inline constexpr CUresult kCaptureUnsupported = 900;
inline constexpr CUresult kCaptureInvalidated = 901;
inline constexpr CUresult kCaptureImplicit = 906;
inline constexpr int kAllocationPinned = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
inline constexpr int kHandleFd = 1;          // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int kLocationDevice = 1;    // CU_MEM_LOCATION_TYPE_DEVICE
inline constexpr int kAccessReadWrite = 3;   // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
inline constexpr int kGranularityMinimum = 0;
inline constexpr int kPointerDevice = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureNone = 0;     // CU_STREAM_CAPTURE_STATUS_NONE
inline constexpr int kCaptureGlobal = 0;   // CU_STREAM_CAPTURE_MODE_GLOBAL
inline constexpr int kCaptureRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4;
inline constexpr unsigned kRegisterPortable = 1;
inline constexpr unsigned kRegisterMapped = 2;    // CU_MEMHOSTREGISTER_DEVICEMAP
inline constexpr unsigned kWaitValueAtLeast = 0;  // CU_STREAM_WAIT_VALUE_GEQ
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr int kAttributeComputeMode = 20;
inline constexpr int kComputeModeProhibited = 2;
inline constexpr int kComputeModeExclusive = 3;  // CU_COMPUTEMODE_EXCLUSIVE_PROCESS
inline constexpr int kAttributePciBus = 33;
inline constexpr int kAttributePciDevice = 34;
inline constexpr int kAttributePciDomain = 50;
inline constexpr int kAttributeMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
inline constexpr int kAttributeMinor = 76;
inline constexpr int kAttributeVirtualMemory = 102;
inline constexpr int kAttributeMemoryFd = 103;
inline constexpr int kAttributeStreamWords = 122;  // …_CAN_USE_64_BIT_STREAM_MEM_OPS
inline constexpr int kAttributeIpcEvents = 125;
inline constexpr int kAttributeMps = 133;  // unknown to drivers before CUDA 12.4

// Whether a context that returns this has failed for good: the driver's documentation says that
// every further call of the process returns the same, until the process ends.
constexpr bool is_sticky(CUresult result) {
    switch (result) {
        case 214:              // uncorrectable error of the GPU's memory
        case 220:              // uncorrectable error of NVLink
        case kIllegalAddress:  // 700
        case 702:              // a kernel ran for too long
        case 710:              // an assertion of a kernel
        case 714:              // stack of a kernel
        case 715:              // illegal instruction
        case 716:              // misaligned address
        case 717:              // invalid address space
        case 718:              // invalid program counter
        case 719:              // a kernel failed
            return true;
        default:
            return false;
    }
}

// The name under which the driver exports each function. The suffix (_v2) names the version that
// this interface means.
#define PACE_CUDA_FUNCTIONS(X)                                                                   \
    X(init, "cuInit", (unsigned))                                                                \
    X(driver_get_version, "cuDriverGetVersion", (int*))                                          \
    X(get_error_name, "cuGetErrorName", (CUresult, const char**))                                \
    X(get_error_string, "cuGetErrorString", (CUresult, const char**))                            \
    X(device_get_count, "cuDeviceGetCount", (int*))                                              \
    X(device_get, "cuDeviceGet", (CUdevice*, int))                                               \
    X(device_get_name, "cuDeviceGetName", (char*, int, CUdevice))                                \
    X(device_get_uuid, "cuDeviceGetUuid_v2", (CUuuid*, CUdevice))                                \
    X(device_get_attribute, "cuDeviceGetAttribute", (int*, int, CUdevice))                       \
    X(device_total_mem, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                              \
    X(device_can_access_peer, "cuDeviceCanAccessPeer", (int*, CUdevice, CUdevice))               \
    X(primary_context_retain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                \
    X(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                       \
    X(context_push, "cuCtxPushCurrent_v2", (CUcontext))                                          \
    X(context_pop, "cuCtxPopCurrent_v2", (CUcontext*))                                           \
    X(context_get_device, "cuCtxGetDevice", (CUdevice*))                                         \
    X(context_synchronize, "cuCtxSynchronize", ())                                               \
    X(mem_get_info, "cuMemGetInfo_v2", (size_t*, size_t*))                                       \
    X(mem_granularity, "cuMemGetAllocationGranularity",                                          \
      (size_t*, const CUmemAllocationProp*, int))                                                \
    X(mem_create, "cuMemCreate",                                                                 \
      (CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long))   \
    X(mem_release, "cuMemRelease", (CUmemGenericAllocationHandle))                               \
    X(mem_export, "cuMemExportToShareableHandle",                                                \
      (void*, CUmemGenericAllocationHandle, int, unsigned long long))                            \
    X(mem_import, "cuMemImportFromShareableHandle", (CUmemGenericAllocationHandle*, void*, int)) \
    X(mem_reserve, "cuMemAddressReserve",                                                        \
      (CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long))                           \
    X(mem_free_addresses, "cuMemAddressFree", (CUdeviceptr, size_t))                             \
    X(mem_map, "cuMemMap",                                                                       \
      (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long))           \
    X(mem_unmap, "cuMemUnmap", (CUdeviceptr, size_t))                                            \
    X(mem_set_access, "cuMemSetAccess", (CUdeviceptr, size_t, const CUmemAccessDesc*, size_t))   \
    X(mem_alloc, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                        \
    X(mem_get_range, "cuMemGetAddressRange_v2", (CUdeviceptr*, size_t*, CUdeviceptr))            \
    X(pointer_get_attribute, "cuPointerGetAttribute", (void*, int, CUdeviceptr))                 \
    X(mem_free, "cuMemFree_v2", (CUdeviceptr))                                                   \
    X(mem_host_register, "cuMemHostRegister_v2", (void*, size_t, unsigned))                      \
    X(mem_host_unregister, "cuMemHostUnregister", (void*))                                       \
    X(mem_host_device_pointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr*, void*, unsigned))  \
    X(ipc_get_mem_handle, "cuIpcGetMemHandle", (CUipcMemHandle*, CUdeviceptr))                   \
    X(ipc_open_mem_handle, "cuIpcOpenMemHandle_v2", (CUdeviceptr*, CUipcMemHandle, unsigned))    \
    X(ipc_close_mem_handle, "cuIpcCloseMemHandle", (CUdeviceptr))                                \
    X(ipc_get_event_handle, "cuIpcGetEventHandle", (CUipcEventHandle*, CUevent))                 \
    X(ipc_open_event_handle, "cuIpcOpenEventHandle", (CUevent*, CUipcEventHandle))               \
    X(event_create, "cuEventCreate", (CUevent*, unsigned))                                       \
    X(event_destroy, "cuEventDestroy_v2", (CUevent))                                             \
    X(event_record, "cuEventRecord", (CUevent, CUstream))                                        \
    X(event_query, "cuEventQuery", (CUevent))                                                    \
    X(event_synchronize, "cuEventSynchronize", (CUevent))                                        \
    X(stream_create, "cuStreamCreate", (CUstream*, unsigned))                                    \
    X(stream_destroy, "cuStreamDestroy_v2", (CUstream))                                          \
    X(stream_get_context, "cuStreamGetCtx", (CUstream, CUcontext*))                              \
    X(stream_wait_event, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                     \
    X(stream_synchronize, "cuStreamSynchronize", (CUstream))                                     \
    X(stream_begin_capture, "cuStreamBeginCapture_v2", (CUstream, int))                          \
    X(stream_end_capture, "cuStreamEndCapture", (CUstream, CUgraph*))                            \
    X(stream_is_capturing, "cuStreamIsCapturing", (CUstream, int*))                              \
    X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int*))                        \
    X(launch_host_function, "cuLaunchHostFunc", (CUstream, CUhostFn, void*))                     \
    X(copy_to_device, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void*, size_t, CUstream))      \
    X(copy_to_host, "cuMemcpyDtoHAsync_v2", (void*, CUdeviceptr, size_t, CUstream))              \
    X(copy_on_device, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))      \
    X(set_bytes, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))

// Functions that a driver may lack: those before CUDA 11.7 have no such version of them.
#define PACE_CUDA_OPTIONAL_FUNCTIONS(X)                      \
    X(stream_write_value, "cuStreamWriteValue64_v2",         \
      (CUstream, CUdeviceptr, unsigned long long, unsigned)) \
    X(stream_wait_value, "cuStreamWaitValue64_v2",           \
      (CUstream, CUdeviceptr, unsigned long long, unsigned))

#define PACE_CUDA_ALL_FUNCTIONS(X) PACE_CUDA_FUNCTIONS(X) PACE_CUDA_OPTIONAL_FUNCTIONS(X)

struct CudaDriver {
#define PACE_CUDA_MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
    PACE_CUDA_ALL_FUNCTIONS(PACE_CUDA_MEMBER)
#undef PACE_CUDA_MEMBER
    // 13000 means CUDA 13.0.
    int version = 0;

    // Returns the initialized driver. The machine need not have a device. Fails with `unavailable`
    // and the reason: no driver is installed, the driver is too old, or the driver cannot start.
    // The first call decides the answer of all calls. Any thread; the first call may block for
    // seconds.
    static const Result<const CudaDriver*>& get();

    // Whether streams of this device can write a word of the host's memory and wait for one.
    bool has_stream_words(CUdevice device) const {
        int has = 0;
        return stream_write_value != nullptr && stream_wait_value != nullptr &&
               device_get_attribute(&has, kAttributeStreamWords, device) == kSuccess && has != 0;
    }

    // Makes the error of a result that is not success: "WHAT: NAME, what the name means".
    Error error(CUresult result, std::string_view what) const;
    Result<> check(CUresult result, std::string_view what) const {
        if (result == kSuccess) return {};
        return error(result, what);
    }
};

// Makes a device's context the calling thread's current context as long as the scope lives.
// Meanwhile the thread's calls break no capture of a CUDA graph: while some thread captures a
// stream, a query of an event by any other thread would end the capture with an error, unless that
// other thread's mode is relaxed.
class ContextScope {
  public:
    ContextScope(const CudaDriver& driver, CUcontext context)
        : driver_(driver),
          relaxed_(driver.exchange_capture_mode(&capture_mode_) == kSuccess),
          pushed_(driver.context_push(context) == kSuccess) {}
    ~ContextScope() {
        CUcontext was = nullptr;
        if (pushed_) (void)driver_.context_pop(&was);
        if (relaxed_) (void)driver_.exchange_capture_mode(&capture_mode_);
    }
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;

  private:
    const CudaDriver& driver_;
    int capture_mode_ = kCaptureRelaxed;  // of the thread: then the one that it had
    bool relaxed_;
    bool pushed_;
};

// "13.0" for 13000.
std::string version_text(int version);

// The UUID as NVIDIA's tools write it: "GPU-0123…".
std::string text_of(const CUuuid& uuid);

}  // namespace pace::base::cuda
