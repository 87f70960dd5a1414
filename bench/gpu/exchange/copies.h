// What copies between a GPU and pinned memory of the host take, and copies on the GPU.
#pragma once

#include "bench/gpu/exchange/options.h"

namespace pace::gpu_bench {

void measure_copies(const Options& options);

}  // namespace pace::gpu_bench
