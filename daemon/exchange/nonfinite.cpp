#include "daemon/exchange/nonfinite.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace pace::daemon {

namespace {

constexpr size_t kGrain = size_t{1} << 16U;
constexpr size_t kNone = SIZE_MAX;

// The exponent's bits are all ones in an infinity or a NaN, and in nothing else.
template <typename Bits>
size_t first_in(const std::byte* data, size_t begin, size_t end, Bits exponent) {
    Bits found = 0;
    const auto bits_at = [data](size_t i) {
        Bits bits;
        std::memcpy(&bits, data + i * sizeof(Bits), sizeof(Bits));
        return bits;
    };
    for (size_t i = begin; i < end; ++i)
        found = static_cast<Bits>(found | ((bits_at(i) & exponent) == exponent ? 1 : 0));
    if (found == 0) return kNone;
    for (size_t i = begin; i < end; ++i)
        if ((bits_at(i) & exponent) == exponent) return i;
    return kNone;
}

size_t first_in(const Buffer& buffer, size_t begin, size_t end) {
    const std::byte* data = buffer.memory.data();
    switch (buffer.dtype) {
        case protocol::DType::f64:
            return first_in<uint64_t>(data, begin, end, uint64_t{0x7FF} << 52U);
        case protocol::DType::f16:
            return first_in<uint16_t>(data, begin, end, uint16_t{0x7C00});
        case protocol::DType::bf16:
            return first_in<uint16_t>(data, begin, end, uint16_t{0x7F80});
        case protocol::DType::u32:
            return kNone;
        case protocol::DType::f32:
            break;
    }
    return first_in<uint32_t>(data, begin, end, uint32_t{0x7F800000});
}

}  // namespace

std::optional<Place> find_nonfinite(const std::vector<BufferPtr>& buffers,
                                    kernels::WorkerPool& pool) {
    for (size_t i = 0; i < buffers.size(); ++i) {
        const Buffer& buffer = *buffers[i];
        std::atomic<size_t> first = kNone;
        pool.parallel_for(buffer.count, kGrain, [&](size_t begin, size_t end) {
            const size_t found = first_in(buffer, begin, end);
            size_t known = first.load();
            while (found < known && !first.compare_exchange_weak(known, found)) {
            }
        });
        if (first != kNone) return Place{i, first};
    }
    return std::nullopt;
}

}  // namespace pace::daemon
