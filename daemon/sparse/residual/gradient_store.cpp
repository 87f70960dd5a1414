#include "daemon/sparse/residual/gradient_store.h"

#include "daemon/sparse/residual/top_k.h"

namespace pace::sparse {

Entries HostGradient::top_k(size_t begin, size_t length, size_t k) {
    return sparse::top_k(gradient_.subspan(begin, length), k, pool_);
}

void HostGradient::write(size_t begin, std::span<const uint32_t> indices,
                         std::span<const float> values) {
    float* const first = gradient_.data() + begin;
    for (size_t i = 0; i < indices.size(); ++i) first[indices[i]] = values[i];
}

Entries HostGradient::add(size_t begin, const Entries& received) {
    float* const first = gradient_.data() + begin;
    Entries before;
    before.indices = received.indices;
    before.values.resize(received.size());
    for (size_t i = 0; i < received.size(); ++i) {
        float& value = first[received.indices[i]];
        before.values[i] = value;
        value = sparse::add(value, received.values[i]);
    }
    return before;
}

}  // namespace pace::sparse
