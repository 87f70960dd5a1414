// element: the types that buffers have, among them the two of 16 bits that C++ lacks, and the
// devices they lie on.
#pragma once

#include <pace.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pace {

// The types of pace.h.
enum class element : std::int32_t {
    f32 = PACE_F32,
    f64 = PACE_F64,
    f16 = PACE_F16,
    bf16 = PACE_BF16,
    u32 = PACE_U32
};

namespace detail {

inline std::uint32_t bits_of(float number) noexcept {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    return bits;
}
inline float float_of(std::uint32_t bits) noexcept {
    float number = 0;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
}

// `value` without its last `count` bits, 1 to 31, rounded to nearest, ties to even.
inline std::uint32_t rounded(std::uint32_t value, std::uint32_t count) noexcept {
    const std::uint32_t half = 1U << (count - 1);
    const std::uint32_t odd = value >> count & 1U;
    return (value + half - 1 + odd) >> count;
}

inline std::uint16_t half_bits(float number) noexcept {
    const std::uint32_t bits = bits_of(number);
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)  // a NaN stays a quiet NaN
        return static_cast<std::uint16_t>(sign | 0x7E00U | (magnitude >> 13U & 0x3FFU));
    if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude >= 0x38800000U)  // normal: the exponent's bias goes from 127 to 15
        return static_cast<std::uint16_t>(sign | rounded(magnitude - 0x38000000U, 13));
    if (magnitude < 0x33000000U) return static_cast<std::uint16_t>(sign);
    // Subnormal: in units of 2^-24.
    const std::uint32_t exponent = magnitude >> 23U;
    const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
    return static_cast<std::uint16_t>(sign | rounded(mantissa, 126 - exponent));
}

inline float half_value(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t exponent = half >> 10U & 0x1FU;
    const std::uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0x1F) return float_of(sign | 0x7F800000U | mantissa << 13U);
    if (exponent != 0) return float_of(sign | (exponent + 112) << 23U | mantissa << 13U);
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return float_of(sign | bits_of(magnitude));
}

inline std::uint16_t brain_bits(float number) noexcept {
    const std::uint32_t bits = bits_of(number);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
    return static_cast<std::uint16_t>(rounded(bits, 16));
}

}  // namespace detail

// An IEEE 754 binary16 number. It only converts; arithmetic is made in float. Conversions round to
// nearest, ties to even.
struct f16 {
    std::uint16_t bits;

    f16() noexcept = default;
    explicit f16(float number) noexcept : bits(detail::half_bits(number)) {}
    // The same number, exactly.
    explicit operator float() const noexcept { return detail::half_value(bits); }
    // The number that has these bits.
    static f16 from_bits(std::uint16_t bits) noexcept {
        f16 number;
        number.bits = bits;
        return number;
    }
};

// A bfloat16 number: the upper half of a float. As f16.
struct bf16 {
    std::uint16_t bits;

    bf16() noexcept = default;
    explicit bf16(float number) noexcept : bits(detail::brain_bits(number)) {}
    // The same number, exactly.
    explicit operator float() const noexcept {
        return detail::float_of(std::uint32_t{bits} << 16U);
    }
    // The number that has these bits.
    static bf16 from_bits(std::uint16_t bits) noexcept {
        bf16 number;
        number.bits = bits;
        return number;
    }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2, "elements of buffers have two bytes");

// element_of<T>: the type of pace.h whose elements are T. It exists for these five types only.
template <class T>
struct element_traits;
template <>
struct element_traits<float> {
    static constexpr element value = element::f32;
};
template <>
struct element_traits<double> {
    static constexpr element value = element::f64;
};
template <>
struct element_traits<f16> {
    static constexpr element value = element::f16;
};
template <>
struct element_traits<bf16> {
    static constexpr element value = element::bf16;
};
template <>
struct element_traits<std::uint32_t> {
    static constexpr element value = element::u32;
};
template <class T>
inline constexpr element element_of = element_traits<T>::value;

// Where memory lies, in DLPack's numbers. By default the host.
struct device {
    std::int32_t type = 0;  // 0 or PACE_DEVICE_CPU: the host; PACE_DEVICE_CUDA
    std::int32_t id = 0;    // which of those, as this process counts them

    // The GPU of that number, as this process counts them.
    static constexpr device cuda(std::int32_t id) noexcept { return {PACE_DEVICE_CUDA, id}; }
    // Whether it is the memory of the host.
    constexpr bool is_host() const noexcept { return type == 0 || type == PACE_DEVICE_CPU; }
    // The device of pace.h.
    constexpr operator pace_device() const noexcept { return {type, id}; }
};

}  // namespace pace
