// Test elements: elements of any type as bytes. They include the rare ones: subnormals, infinities,
// NaNs, zeros of both signs, and ties.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/half.h"
#include "base/random.h"
#include "daemon/kernels/reference.h"
#include "protocol/types.h"

namespace pace::kernels::cuda {

using Bytes = std::vector<std::byte>;

// Returns random bits. Half of the values are of moderate size, so that not all sums overflow.
inline float any_float(base::Random& random) {
    const uint64_t bits = random.next();
    switch (random.below(8)) {
        case 0:
        case 1:
        case 2:
            return std::bit_cast<float>(static_cast<uint32_t>(bits));
        case 3:
            return std::bit_cast<float>(static_cast<uint32_t>(bits) & 0x807FFFFFU);  // subnormal
        case 4:
            return static_cast<float>(static_cast<int>(random.below(5)) - 2);
        default:
            return static_cast<float>((random.uniform() - 0.5) * 8);
    }
}

inline double any_double(base::Random& random) {
    switch (random.below(4)) {
        case 0:
            return std::bit_cast<double>(random.next());
        case 1:
            return any_float(random);
        default:
            return (random.uniform() - 0.5) * 8;
    }
}

inline Bytes any_elements(protocol::DType dtype, size_t count, base::Random& random) {
    Bytes bytes(count * size_of(dtype));
    for (size_t i = 0; i < count; ++i) switch (dtype) {
            case protocol::DType::f32:
                write_element(bytes.data(), i, any_float(random));
                break;
            case protocol::DType::f64:
                write_element(bytes.data(), i, any_double(random));
                break;
            case protocol::DType::f16:
                write_element(bytes.data(), i,
                              random.below(2) == 0 ? static_cast<uint16_t>(random.next())
                                                   : base::f16_from_float(any_float(random)));
                break;
            case protocol::DType::bf16:
                write_element(bytes.data(), i,
                              random.below(2) == 0 ? static_cast<uint16_t>(random.next())
                                                   : base::bf16_from_float(any_float(random)));
                break;
            case protocol::DType::u32:
                write_element(bytes.data(), i, static_cast<uint32_t>(random.next()));
                break;
        }
    return bytes;
}

}  // namespace pace::kernels::cuda
