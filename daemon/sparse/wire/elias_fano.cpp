#include "daemon/sparse/wire/elias_fano.h"

#include <bit>
#include <cstring>
#include <vector>

namespace pace::sparse {

using base::ErrorKind;
using base::Result;

static_assert(std::endian::native == std::endian::little, "bits are packed from the lowest byte");

namespace {

struct Shape {
    Shape(size_t universe, size_t capacity, size_t count)
        : low_bits(capacity == 0 || universe / capacity == 0
                       ? 0
                       : static_cast<size_t>(std::bit_width(universe / capacity)) - 1),
          low_bytes((count * low_bits + 7) / 8),
          high_size(count == 0 ? 0 : count + ((universe - 1) >> low_bits)),
          high_bytes((high_size + 7) / 8) {}

    size_t low_bits;    // lower bits of each index
    size_t low_bytes;   // bytes of the first string
    size_t high_size;   // bits of the second string
    size_t high_bytes;  // bytes of the second string
};

// Returns words that hold the bytes, and one more word. So any window of bits can be read as two
// words.
std::vector<uint64_t> words_of(std::span<const std::byte> bytes) {
    std::vector<uint64_t> words(bytes.size() / 8 + 2, 0);
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

uint64_t read_bits(const std::vector<uint64_t>& words, size_t at, size_t bits) {
    if (bits == 0) return 0;
    const size_t word = at / 64;
    const size_t offset = at % 64;
    uint64_t value = words[word] >> offset;
    if (offset + bits > 64) value |= words[word + 1] << (64 - offset);
    return value & ((uint64_t{1} << bits) - 1);
}

void or_bits(std::vector<uint64_t>& words, size_t at, uint64_t value) {
    const size_t word = at / 64;
    const size_t offset = at % 64;
    words[word] |= value << offset;
    if (offset > 0) words[word + 1] |= value >> (64 - offset);
}

void copy_out(const std::vector<uint64_t>& words, std::span<std::byte> out) {
    if (!out.empty()) std::memcpy(out.data(), words.data(), out.size());
}

}  // namespace

size_t elias_fano_bytes(size_t universe, size_t capacity, size_t count) {
    const Shape shape(universe, capacity, count);
    return shape.low_bytes + shape.high_bytes;
}

void elias_fano_encode(size_t universe, size_t capacity, std::span<const uint32_t> indices,
                       std::span<std::byte> out) {
    const Shape shape(universe, capacity, indices.size());
    std::vector<uint64_t> low(shape.low_bytes / 8 + 2, 0);
    std::vector<uint64_t> high(shape.high_bytes / 8 + 2, 0);
    const uint64_t mask = (uint64_t{1} << shape.low_bits) - 1;
    for (size_t i = 0; i < indices.size(); ++i) {
        if (shape.low_bits > 0) or_bits(low, i * shape.low_bits, indices[i] & mask);
        const size_t bit = (indices[i] >> shape.low_bits) + i;
        high[bit / 64] |= uint64_t{1} << (bit % 64);
    }
    copy_out(low, out.first(shape.low_bytes));
    copy_out(high, out.subspan(shape.low_bytes));
}

Result<base::LargeVector<uint32_t>> elias_fano_decode(size_t universe, size_t capacity,
                                                      size_t count,
                                                      std::span<const std::byte> bytes) {
    const Shape shape(universe, capacity, count);
    if (count > capacity || capacity > universe ||
        bytes.size() != shape.low_bytes + shape.high_bytes)
        return base::make_error(ErrorKind::corrupt, "{} bytes cannot hold {} of {} indices",
                                bytes.size(), count, universe);
    const std::vector<uint64_t> low = words_of(bytes.first(shape.low_bytes));
    const std::vector<uint64_t> high = words_of(bytes.subspan(shape.low_bytes));
    base::LargeVector<uint32_t> indices;
    indices.reserve(count);
    for (size_t word = 0; word < high.size(); ++word)
        for (uint64_t rest = high[word]; rest != 0; rest &= rest - 1) {
            const size_t i = indices.size();
            const size_t bit = word * 64 + static_cast<size_t>(std::countr_zero(rest));
            if (i == count || bit >= shape.high_size)
                return base::make_error(ErrorKind::corrupt, "more than {} indices", count);
            const uint64_t index = (static_cast<uint64_t>(bit - i) << shape.low_bits) |
                                   read_bits(low, i * shape.low_bits, shape.low_bits);
            if (index >= universe || (i > 0 && index <= indices.back()))
                return base::make_error(ErrorKind::corrupt,
                                        "index {} of {} is out of order or bounds", i, count);
            indices.push_back(static_cast<uint32_t>(index));
        }
    if (indices.size() != count)
        return base::make_error(ErrorKind::corrupt, "{} indices instead of {}", indices.size(),
                                count);
    const size_t used = count * shape.low_bits;
    if (shape.low_bytes * 8 > used && read_bits(low, used, shape.low_bytes * 8 - used) != 0)
        return base::make_error(ErrorKind::corrupt, "bits are set behind {} indices", count);
    return indices;
}

}  // namespace pace::sparse
