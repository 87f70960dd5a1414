// The names and meanings of the results that these functions return.
#include <algorithm>
#include <array>

#include "tests/simulated_gpu/driver/state/driver.h"

namespace pace::simulated_gpu {

namespace {

struct Meaning {
    CUresult result;
    const char* name;
    const char* text;
};

constexpr std::array kMeanings{
    Meaning{kSuccess, "CUDA_SUCCESS", "no error"},
    Meaning{kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    Meaning{kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    Meaning{kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    Meaning{kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    Meaning{kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    Meaning{kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    Meaning{kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    Meaning{kMapFailed, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    Meaning{kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    Meaning{kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    Meaning{kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
            "an illegal memory access was encountered"},
    Meaning{kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    Meaning{kAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
            "part or all of the requested memory range is already mapped"},
    Meaning{kNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
            "pointer does not correspond to a registered memory region"},
    Meaning{kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    Meaning{kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    Meaning{kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
            "operation not permitted when stream is capturing"},
    Meaning{kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
            "operation failed due to a previous error during capture"},
    Meaning{kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
            "operation would make the legacy stream depend on a capturing blocking stream"},
    Meaning{kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult tell(CUresult result, const char* Meaning::*member, const char** ret_text) {
    const auto found = std::find_if(kMeanings.begin(), kMeanings.end(),
                                    [&](const Meaning& one) { return one.result == result; });
    *ret_text = found == kMeanings.end() ? nullptr : (*found).*member;
    return found == kMeanings.end() ? kInvalidValue : kSuccess;
}

}  // namespace

CUresult get_error_name(CUresult result, const char** ret_name) {
    return tell(result, &Meaning::name, ret_name);
}

CUresult get_error_string(CUresult result, const char** ret_text) {
    return tell(result, &Meaning::text, ret_text);
}

}  // namespace pace::simulated_gpu
