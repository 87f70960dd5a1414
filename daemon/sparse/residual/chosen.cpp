#include "daemon/sparse/residual/chosen.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "daemon/sparse/residual/gradient.h"
#include "daemon/sparse/wire/elias_fano.h"

namespace pace::sparse {

using base::ErrorKind;
using base::Result;

namespace {

// A product of at least this magnitude is zero in no type. The value is half the least number of
// f16, the coarsest type.
constexpr double kNeverZero = 0x1p-23;

base::LargeVector<uint32_t> hidden_indices(const Entries& chosen, double scale,
                                           const Packed& packed) {
    base::LargeVector<uint32_t> hidden;
    size_t at = 0;
    packed.for_each(0, packed.count(), [&](size_t segment, size_t, size_t count, size_t place) {
        const protocol::DType dtype = packed.layout().segments()[segment].dtype;
        for (; at < chosen.size() && chosen.indices[at] < place + count; ++at)
            if (!(std::abs(chosen.values[at] * scale) >= kNeverZero) &&
                becomes_zero(dtype, chosen.values[at], scale))
                hidden.push_back(chosen.indices[at]);
    });
    return hidden;
}

base::LargeVector<uint32_t> indices_not_zero(const Packed& packed,
                                             std::span<const std::byte> result) {
    base::LargeVector<uint32_t> indices;
    packed.for_each(0, packed.count(),
                    [&](size_t segment, size_t first, size_t count, size_t place) {
                        const protocol::DType dtype = packed.layout().segments()[segment].dtype;
                        const std::byte* data = result.data() + packed.layout().offset(segment);
                        for (size_t i = 0; i < count; ++i)
                            if (!is_zero(dtype, data, first + i))
                                indices.push_back(static_cast<uint32_t>(place + i));
                    });
    return indices;
}

}  // namespace

std::vector<std::byte> encode_hidden(const Entries& chosen, double scale, const Packed& packed) {
    const base::LargeVector<uint32_t> hidden = hidden_indices(chosen, scale, packed);
    const auto size = static_cast<uint64_t>(hidden.size());
    std::vector<std::byte> bytes(kHiddenHeaderBytes +
                                 elias_fano_bytes(packed.count(), hidden.size(), hidden.size()));
    std::memcpy(bytes.data(), &size, kHiddenHeaderBytes);
    elias_fano_encode(packed.count(), hidden.size(), hidden,
                      std::span(bytes).subspan(kHiddenHeaderBytes));
    return bytes;
}

Result<size_t> hidden_bytes(size_t count, std::span<const std::byte> header_untrusted) {
    uint64_t size = 0;
    if (header_untrusted.size() < kHiddenHeaderBytes)
        return base::make_error(ErrorKind::corrupt,
                                "{} bytes are too few for a list of hidden elements",
                                header_untrusted.size());
    std::memcpy(&size, header_untrusted.data(), kHiddenHeaderBytes);
    if (size > count)
        return base::make_error(ErrorKind::corrupt,
                                "a peer says that {} of {} elements are hidden; it is broken or "
                                "hostile",
                                size, count);
    return kHiddenHeaderBytes + elias_fano_bytes(count, size, size);
}

// An index takes at least two bits. No list takes more than the list of all indices, except for the
// bits that fill a byte.
size_t hidden_bytes_max(size_t count) {
    return kHiddenHeaderBytes + elias_fano_bytes(count, count, count) + 1;
}

Result<base::LargeVector<uint32_t>> chosen_indices(const Packed& packed,
                                                   std::span<const std::byte> result,
                                                   std::span<const std::byte> hidden_untrusted) {
    const size_t n = packed.count();
    PACE_TRY_ASSIGN(size, hidden_bytes(n, hidden_untrusted));
    if (hidden_untrusted.size() != size)
        return base::make_error(ErrorKind::corrupt,
                                "a list of hidden elements has {} bytes instead of {}",
                                hidden_untrusted.size(), size);
    uint64_t count = 0;
    std::memcpy(&count, hidden_untrusted.data(), kHiddenHeaderBytes);
    PACE_TRY_ASSIGN(
        hidden, elias_fano_decode(n, count, count, hidden_untrusted.subspan(kHiddenHeaderBytes)));
    const base::LargeVector<uint32_t> seen = indices_not_zero(packed, result);
    base::LargeVector<uint32_t> all;
    all.reserve(seen.size() + hidden.size());
    std::set_union(seen.begin(), seen.end(), hidden.begin(), hidden.end(), std::back_inserter(all));
    if (all.size() != seen.size() + hidden.size())
        return base::make_error(ErrorKind::corrupt,
                                "an element that the result shows is said to be hidden; the list "
                                "is of another result");
    return all;
}

}  // namespace pace::sparse
