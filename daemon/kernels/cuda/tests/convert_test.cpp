// Conversion tests: compare conversions on the device with the nearest element of the other type,
// bit by bit.
#include <array>
#include <cmath>
#include <limits>

#include "daemon/kernels/cuda/tests/test_device.h"
#include "daemon/kernels/cuda/tests/test_elements.h"

namespace pace::kernels::cuda {
namespace {

using protocol::DType;

constexpr std::array kDTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};

double read(DType dtype, const Bytes& bytes, size_t i) {
    switch (dtype) {
        case DType::f32:
            return read_element<float>(bytes.data(), i);
        case DType::f64:
            return read_element<double>(bytes.data(), i);
        case DType::f16:
            return base::float_from_f16(read_element<uint16_t>(bytes.data(), i));
        case DType::bf16:
            return base::float_from_bf16(read_element<uint16_t>(bytes.data(), i));
        case DType::u32:
            break;
    }
    return 0;
}

// Returns the half nearest to the value. If two halves are equally near, returns the even one.
// `from_float` rounds a double twice, so it gives the nearest half or a neighbor.
template <typename FromFloat, typename ToFloat>
uint16_t nearest_half(double value, FromFloat from_float, ToFloat to_float) {
    const uint16_t middle = from_float(static_cast<float>(value));
    if (!std::isfinite(value) || !std::isfinite(static_cast<double>(to_float(middle)))) {
        // The greatest finite half is nearer if the value is less than half a unit beyond it.
        if (std::isfinite(value)) {
            const auto below = static_cast<uint16_t>(middle - 1);
            const auto before = static_cast<uint16_t>(middle - 2);
            const double top = to_float(below);
            const double bound = top + (top - static_cast<double>(to_float(before))) / 2;
            if (std::abs(value) < std::abs(bound)) return below;
        }
        return middle;
    }
    uint16_t best = middle;
    const auto distance = [&](uint16_t half) {
        return std::abs(static_cast<double>(to_float(half)) - value);
    };
    for (const int step : {-1, 1}) {
        const auto other = static_cast<uint16_t>(middle + step);
        if (((other ^ middle) & 0x8000U) != 0) continue;  // the two have different signs
        if (!std::isfinite(static_cast<double>(to_float(other)))) continue;
        const bool is_nearer = distance(other) < distance(best);
        const bool is_even = distance(other) == distance(best) && other % 2 == 0;
        if (is_nearer || is_even) best = other;
    }
    return best;
}

void write_nearest(DType dtype, Bytes& bytes, size_t i, double value) {
    switch (dtype) {
        case DType::f32:
            return write_element(bytes.data(), i,
                                 value == value ? static_cast<float>(value)
                                                : std::numeric_limits<float>::quiet_NaN());
        case DType::f64:
            return write_element(bytes.data(), i,
                                 value == value ? value : std::numeric_limits<double>::quiet_NaN());
        case DType::f16:
            return write_element(bytes.data(), i,
                                 nearest_half(value, base::f16_from_float, base::float_from_f16));
        case DType::bf16:
            return write_element(bytes.data(), i,
                                 nearest_half(value, base::bf16_from_float, base::float_from_bf16));
        case DType::u32:
            break;
    }
}

class DeviceConvert : public OnDevice {
  protected:
    void compare(DType from, DType to, const Bytes& in, size_t in_shift, size_t out_shift) {
        const size_t count = in.size() / size_of(from);
        const Guarded<std::byte> source(std::span<const std::byte>(in), in_shift * size_of(from));
        const Guarded<std::byte> target(count * size_of(to), out_shift * size_of(to));
        pace_device_convert convert = {};
        convert.from = static_cast<pace_device_dtype>(from);
        convert.to = static_cast<pace_device_dtype>(to);
        convert.count = count;
        convert.in = source.data();
        convert.out = target.data();
        finish(plugin()->convert(&convert, stream()));
        Bytes expected = in;
        if (from != to) {
            expected.resize(count * size_of(to));
            for (size_t i = 0; i < count; ++i) write_nearest(to, expected, i, read(from, in, i));
        }
        ASSERT_TRUE(is_same(target.elements(), expected))
            << name_of(from) << " to " << name_of(to) << " x " << count << " +" << in_shift << " +"
            << out_shift;
        ASSERT_TRUE(target.is_intact());
    }

    base::Random random_{2};
};

TEST_F(DeviceConvert, RoundsToTheNearestWhateverTheCountAndAlignment) {
    for (const DType from : kDTypes)
        for (const DType to : kDTypes)
            for (const size_t count : {0, 1, 3, 7, 8, 31, 33, 1000, 4097, 20011}) {
                const Bytes in = any_elements(from, count, random_);
                compare(from, to, in, 0, 0);
                compare(from, to, in, 1, 1);
                compare(from, to, in, 0, 1);
                compare(from, to, in, 3, 2);
            }
}

TEST_F(DeviceConvert, WidensEveryHalf) {
    Bytes all(65536 * 2);
    for (size_t i = 0; i < 65536; ++i) write_element(all.data(), i, static_cast<uint16_t>(i));
    for (const DType from : {DType::f16, DType::bf16})
        for (const DType to : {DType::f32, DType::f64}) compare(from, to, all, 0, 0);
}

// The values are just above, at and just below the middle between two neighboring halves. Rounding
// twice gets these values wrong.
TEST_F(DeviceConvert, RoundsADoubleOnce) {
    for (const DType to : {DType::f16, DType::bf16}) {
        std::vector<double> values;
        for (uint32_t half = 0; half < 0x7C00U; half += 3) {
            const auto next = static_cast<uint16_t>(half + 1);
            const bool is_f16 = to == DType::f16;
            const double low = is_f16 ? base::float_from_f16(static_cast<uint16_t>(half))
                                      : base::float_from_bf16(static_cast<uint16_t>(half));
            const double high = is_f16 ? base::float_from_f16(next) : base::float_from_bf16(next);
            if (!std::isfinite(high)) continue;
            const double middle = low + (high - low) / 2;
            for (const double value : {middle, std::nextafter(middle, low),
                                       std::nextafter(middle, high), low + (high - low) / 1024}) {
                values.push_back(value);
                values.push_back(-value);
            }
        }
        for (const double value :
             {65519.0, 65520.0, 65519.999999, 3.3895e38, 3.4e38, 1e300, 5e-324})
            values.push_back(value);
        Bytes in(values.size() * sizeof(double));
        std::memcpy(in.data(), values.data(), in.size());
        compare(DType::f64, to, in, 0, 0);
    }
}

}  // namespace
}  // namespace pace::kernels::cuda
