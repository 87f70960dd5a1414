// gradient.h: what workers exchange in the sparse benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pace::bench {

// Values around zero, most of them small and few large, as gradients are: the cube of a sum of three
// uniform ones. Equal for equal seeds.
std::vector<float> make_gradient(size_t count, uint64_t seed);

}  // namespace pace::bench
