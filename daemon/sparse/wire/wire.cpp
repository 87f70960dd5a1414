#include "daemon/sparse/wire/wire.h"

#include <algorithm>
#include <cstring>

#include "daemon/sparse/wire/elias_fano.h"

namespace pace::sparse {

using base::ErrorKind;
using base::Result;

namespace {

size_t index_bytes(WireFormat format, Frame frame, size_t count) {
    return format.index == IndexFormat::plain ? count * sizeof(uint32_t)
                                              : elias_fano_bytes(frame.length, frame.k, count);
}

void encode_values(ValueFormat format, const base::LargeVector<float>& values, std::byte* out) {
    if (values.empty()) return;
    if (format == ValueFormat::f32) {
        std::memcpy(out, values.data(), values.size() * sizeof(float));
        return;
    }
    for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t bits = half_bits(values[i], format);
        std::memcpy(out + 2 * i, &bits, sizeof(bits));
    }
}

base::LargeVector<float> decode_values(ValueFormat format, size_t count, const std::byte* bytes) {
    base::LargeVector<float> values(count);
    if (count == 0) return values;
    if (format == ValueFormat::f32) {
        std::memcpy(values.data(), bytes, count * sizeof(float));
        return values;
    }
    for (size_t i = 0; i < count; ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, bytes + 2 * i, sizeof(bits));
        values[i] = float_of_half(bits, format);
    }
    return values;
}

Result<base::LargeVector<uint32_t>> decode_plain(size_t length, size_t count,
                                                 const std::byte* bytes) {
    base::LargeVector<uint32_t> indices(count);
    if (count == 0) return indices;
    std::memcpy(indices.data(), bytes, count * sizeof(uint32_t));
    for (size_t i = 0; i < count; ++i)
        if (indices[i] >= length || (i > 0 && indices[i] <= indices[i - 1]))
            return base::make_error(ErrorKind::corrupt,
                                    "index {} at place {} of {} is out of order or bounds",
                                    indices[i], i, count);
    return indices;
}

}  // namespace

size_t coded_bytes(WireFormat format, Frame frame, size_t count) {
    return kCountBytes + index_bytes(format, frame, count) + count * value_bytes(format.value);
}

void encode(WireFormat format, Frame frame, const Entries& entries, std::span<std::byte> out) {
    const auto count = static_cast<uint32_t>(entries.size());
    std::memcpy(out.data(), &count, kCountBytes);
    const size_t bytes = index_bytes(format, frame, count);
    const std::span<std::byte> indices = out.subspan(kCountBytes, bytes);
    if (format.index == IndexFormat::elias_fano)
        elias_fano_encode(frame.length, frame.k, entries.indices, indices);
    else if (count > 0)
        std::memcpy(indices.data(), entries.indices.data(), bytes);
    encode_values(format.value, entries.values, out.data() + kCountBytes + bytes);
    const size_t used = coded_bytes(format, frame, count);
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(used), out.end(), std::byte{0});
}

Result<Entries> decode(WireFormat format, Frame frame, std::span<const std::byte> bytes_untrusted) {
    uint32_t count = 0;
    if (bytes_untrusted.size() < kCountBytes)
        return base::make_error(ErrorKind::corrupt, "{} bytes are too few for a block",
                                bytes_untrusted.size());
    std::memcpy(&count, bytes_untrusted.data(), kCountBytes);
    if (frame.k > frame.length || count > frame.k ||
        bytes_untrusted.size() < coded_bytes(format, frame, count))
        return base::make_error(ErrorKind::corrupt,
                                "a block of {} elements cut to {} says that it has {} entries in "
                                "{} bytes; the peer is broken or hostile",
                                frame.length, frame.k, count, bytes_untrusted.size());
    const auto bytes = bytes_untrusted.first(coded_bytes(format, frame, count));
    const size_t values_at = kCountBytes + index_bytes(format, frame, count);
    Result<base::LargeVector<uint32_t>> indices =
        format.index == IndexFormat::plain
            ? decode_plain(frame.length, count, bytes.data() + kCountBytes)
            : elias_fano_decode(frame.length, frame.k, count,
                                bytes.subspan(kCountBytes, values_at - kCountBytes));
    if (!indices) return std::move(indices).error();
    for (const std::byte padding : bytes_untrusted.subspan(bytes.size()))
        if (padding != std::byte{0})
            return base::make_error(ErrorKind::corrupt, "a block's padding is not zero");
    Entries entries;
    entries.indices = std::move(indices).value();
    entries.values = decode_values(format.value, count, bytes.data() + values_at);
    return entries;
}

Result<Entries> decode_counted(WireFormat format, size_t length, size_t k_max,
                               std::span<const std::byte> bytes_untrusted) {
    uint32_t count = 0;
    if (bytes_untrusted.size() >= kCountBytes)
        std::memcpy(&count, bytes_untrusted.data(), kCountBytes);
    const Frame frame{length, count};
    if (count > std::min(k_max, length) ||
        bytes_untrusted.size() != coded_bytes(format, frame, count))
        return base::make_error(ErrorKind::corrupt,
                                "a message of {} bytes says that it has {} entries of {}, of which "
                                "{} are allowed; the peer is broken or hostile",
                                bytes_untrusted.size(), count, length, k_max);
    return decode(format, frame, bytes_untrusted);
}

Entries round_entries(Entries& entries, ValueFormat format) {
    Entries errors;
    if (format == ValueFormat::f32) return errors;
    for (size_t i = 0; i < entries.size(); ++i) {
        const float value = entries.values[i];
        entries.values[i] = rounded(value, format);
        const float error = remainder_of(value, entries.values[i]);
        if (error != 0.0F) errors.push_back(entries.indices[i], error);
    }
    drop_zeros(entries);
    return errors;
}

}  // namespace pace::sparse
