// reference: the weighted sum as reduce.h defines it, one element at a time. The code is slow and
// obvious. It serves tests, here and in other folders.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>

#include "base/half.h"
#include "daemon/kernels/headroom.h"
#include "daemon/kernels/reduce.h"
#include "protocol/types.h"

namespace pace::kernels {

template <typename T>
T read_element(const std::byte* data, size_t index) {
    T value;
    std::memcpy(&value, data + index * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
void write_element(std::byte* data, size_t index, T value) {
    std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

// `load` converts an element to an accumulator. `round` does the reverse.
template <typename Accumulator, typename Element, typename Load, typename Round>
void reference_sum_of(std::span<const Source> sources, double scale, std::byte* out, size_t count,
                      Load load, Round round) {
    const double room = headroom(sources.size(), scale);
    for (size_t i = 0; i < count; ++i) {
        Accumulator sum = 0;
        for (size_t k = 0; k < sources.size(); ++k) {
            // volatile keeps any compiler from fusing the product with the addition.
            volatile Accumulator product = load(read_element<Element>(sources[k].data, i)) *
                                           static_cast<Accumulator>(sources[k].weight * room);
            sum = k == 0 ? product : sum + product;
        }
        sum = sum * static_cast<Accumulator>(scale / room);
        if (std::isnan(sum)) sum = std::numeric_limits<Accumulator>::quiet_NaN();
        write_element<Element>(out, i, round(sum));
    }
}

inline void reference_sum(protocol::DType dtype, std::span<const Source> sources, double scale,
                          std::byte* out, size_t count) {
    switch (dtype) {
        case protocol::DType::f32:
            return reference_sum_of<float, float>(sources, scale, out, count, std::identity(),
                                                  std::identity());
        case protocol::DType::f64:
            return reference_sum_of<double, double>(sources, scale, out, count, std::identity(),
                                                    std::identity());
        case protocol::DType::f16:
            return reference_sum_of<float, uint16_t>(sources, scale, out, count,
                                                     base::float_from_f16, base::f16_from_float);
        case protocol::DType::bf16:
            return reference_sum_of<float, uint16_t>(sources, scale, out, count,
                                                     base::float_from_bf16, base::bf16_from_float);
        case protocol::DType::u32:  // indices are never summed
            break;
    }
}

}  // namespace pace::kernels
