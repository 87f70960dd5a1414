// gradient.h: the data that workers exchange in the sparse benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pace::bench {

// Returns values around zero. Like gradients, most are small and few are large. Each value is the
// cube of a sum of three uniform ones. Equal seeds give equal values.
std::vector<float> make_gradient(size_t count, uint64_t seed);

}  // namespace pace::bench
