// Test vectors: random vectors, and the elements of a HybridVector.
#pragma once

#include <cstddef>
#include <vector>

#include "base/random.h"
#include "daemon/server/hybrid_vector.h"

namespace pace::server {

// Each element is nonzero with the probability `share`.
inline std::vector<float> drawn(size_t length, double share, base::Random& random) {
    std::vector<float> elements(length, 0.0F);
    for (float& element : elements)
        if (random.uniform() < share) element = static_cast<float>(random.uniform() - 0.5);
    return elements;
}

inline std::vector<float> whole(HybridVector vector) {
    vector.settle();
    std::vector<float> out(vector.length(), 0.0F);
    vector.add_to(out, 1.0);
    return out;
}

}  // namespace pace::server
