// What exchanges of workers' buffers take. The workers are processes, as trainers are.
#pragma once

#include "bench/gpu/exchange/options.h"

namespace pace::gpu_bench {

// The daemons at the endpoints run already.
void measure_sums(const Options& options);

}  // namespace pace::gpu_bench
