// operations: the functions of the plug-in's table, which daemon/device/plugin.h describes. The
// functions queue work on a stream (a cudaStream_t) of the current device. They return 0 or a
// cudaError_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/device/plugin.h"

namespace pace::kernels::cuda {

int sum(const pace_device_sum* sum, void* stream);
int sum_segments(const pace_device_sum_segments* sum, void* stream);
int convert(const pace_device_convert* convert, void* stream);
size_t top_k_workspace(uint64_t count, uint64_t k);
int top_k(const pace_device_top_k* top_k, void* stream);
size_t merge_workspace(uint64_t a_count, uint64_t b_count);
int merge(const pace_device_merge* merge, void* stream);
int scatter_add(const pace_device_scatter_add* add, void* stream);
int gather(const pace_device_gather* gather, void* stream);
int scatter(const pace_device_scatter* scatter, void* stream);

}  // namespace pace::kernels::cuda
