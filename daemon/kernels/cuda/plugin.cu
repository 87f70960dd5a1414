// plugin: the table of functions through which the daemon uses this library.
#include "daemon/device/plugin.h"

#include <cuda_runtime.h>

#include "daemon/kernels/cuda/launch.cuh"
#include "daemon/kernels/cuda/operations.h"

namespace pace::kernels::cuda {
// A namespace without a name would put the path of this file into the plug-in (README.md).
namespace plugin_parts {

#define PACE_TEXT_OF(text) #text
#define PACE_TEXT(macro) PACE_TEXT_OF(macro)
constexpr const char* kName =
    "CUDA " PACE_TEXT(__CUDACC_VER_MAJOR__) "." PACE_TEXT(__CUDACC_VER_MINOR__);

// CUDA would load a kernel at its first launch, and that may wait for all work of the context. All
// are loaded here instead.
// https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#lazy-loading
cudaError_t load_kernels() {
    for (const auto* kernel = LaunchedKernel::first; kernel != nullptr; kernel = kernel->next) {
        cudaFuncAttributes attributes;
        const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel->address);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

int check(int device) {
    int current = -1;
    cudaError_t error = cudaGetDevice(&current);
    if (error == cudaSuccess) error = current == device ? load_kernels() : cudaErrorInvalidDevice;
    // The error is returned here. This clears it for the next call.
    (void)cudaGetLastError();
    return error;
}

const char* error_text(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

constexpr pace_device_plugin_table kTable = {
    PACE_DEVICE_PLUGIN_VERSION,
    sizeof(pace_device_plugin_table),
    kName,
    PACE_CUDA_MACHINE_CODE,  // CMake gives the value
    check,
    error_text,
    sum,
    sum_segments,
    convert,
    top_k_workspace,
    top_k,
    merge_workspace,
    merge,
    scatter_add,
    gather,
    scatter,
};

}  // namespace plugin_parts

using namespace plugin_parts;
}  // namespace pace::kernels::cuda

extern "C" __attribute__((visibility("default"))) const pace_device_plugin_table*
pace_device_plugin() {
    return &pace::kernels::cuda::kTable;
}
