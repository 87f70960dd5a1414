#include "daemon/partial/accumulate.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace pace::partial {

using protocol::DType;

namespace {

template <typename T>
T load(const std::byte* data, size_t index) {
    T value;
    std::memcpy(&value, data + index * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
void store(std::byte* data, size_t index, T value) {
    std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

// `widen` converts an element to an accumulator. The first result is not added to zero, so that a
// zero keeps its sign.
template <typename Accumulator, typename Element, typename Widen>
void accumulate(std::byte* sum, const std::byte* result, size_t count, bool is_first, Widen widen) {
    for (size_t i = 0; i < count; ++i) {
        const Accumulator value = widen(load<Element>(result, i));
        const Accumulator total = is_first ? value : load<Accumulator>(sum, i) + value;
        store(sum, i, std::isnan(total) ? std::numeric_limits<Accumulator>::quiet_NaN() : total);
    }
}

}  // namespace

void accumulate(DType dtype, std::byte* sum, const std::byte* result, size_t count, bool is_first) {
    switch (dtype) {
        case DType::f32:
            return accumulate<float, float>(sum, result, count, is_first,
                                            [](float value) { return value; });
        case DType::f64:
            return accumulate<double, double>(sum, result, count, is_first,
                                              [](double value) { return value; });
        case DType::f16:
            return accumulate<float, uint16_t>(sum, result, count, is_first, base::float_from_f16);
        case DType::bf16:
            return accumulate<float, uint16_t>(sum, result, count, is_first, base::float_from_bf16);
        case DType::u32:  // indices are never added
            break;
    }
}

void round_to(DType dtype, const std::byte* sum, std::byte* out, size_t count) {
    switch (dtype) {
        case DType::f32:
        case DType::f64:
            std::memcpy(out, sum, count * protocol::size_of(dtype));
            return;
        case DType::f16:
            for (size_t i = 0; i < count; ++i)
                store(out, i, base::f16_from_float(load<float>(sum, i)));
            return;
        case DType::bf16:
            for (size_t i = 0; i < count; ++i)
                store(out, i, base::bf16_from_float(load<float>(sum, i)));
            return;
        case DType::u32:  // indices are never added
            break;
    }
}

}  // namespace pace::partial
