#include "daemon/partial/terms.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/random.h"

namespace pace::partial {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is the memory's");

// No machine has more elements. Sums of so many sizes do not overflow.
constexpr uint64_t kCountMax = uint64_t{1} << 48U;

struct WireSegment {
    uint32_t dtype = 0;
    uint32_t reserved = 0;
    uint64_t count = 0;
};
static_assert(sizeof(WireSegment) == 16);

template <typename T>
T read_at(std::span<const std::byte> bytes, size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

template <typename T>
void write_at(std::span<std::byte> bytes, size_t offset, const T& value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

}  // namespace

uint32_t digest_of(const Terms& terms) {
    uint64_t state = terms.mean ? 1 : 2;
    const auto mix = [&state](uint64_t value) {
        state = base::Random(base::Random(state).next() ^ value).next();
    };
    for (const collectives::Segment& segment : terms.layout.segments()) {
        mix(static_cast<uint64_t>(segment.dtype));
        mix(segment.count);
    }
    const auto digest = static_cast<uint32_t>(state ^ (state >> 32U));
    return digest == 0 ? 1 : digest;
}

std::vector<std::byte> write(const Terms& terms) {
    std::vector<std::byte> bytes(kTermsBytes);
    const auto& segments = terms.layout.segments();
    write_at(std::span(bytes), 0, static_cast<uint32_t>(terms.mean));
    write_at(std::span(bytes), 4, static_cast<uint32_t>(segments.size()));
    for (size_t i = 0; i < segments.size(); ++i)
        write_at(std::span(bytes), 8 + 16 * i,
                 WireSegment{static_cast<uint32_t>(segments[i].dtype), 0, segments[i].count});
    return bytes;
}

Result<Terms> read_terms(std::span<const std::byte> bytes_untrusted) {
    const auto corrupt = [] {
        return make_error(ErrorKind::corrupt, "a peer's description of the buffers does not parse");
    };
    if (bytes_untrusted.size() != kTermsBytes) return corrupt();
    const auto mean = read_at<uint32_t>(bytes_untrusted, 0);
    const auto count = read_at<uint32_t>(bytes_untrusted, 4);
    if (mean > 1 || count > kTermsSegmentsMax) return corrupt();
    std::vector<collectives::Segment> segments;
    segments.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        const auto segment = read_at<WireSegment>(bytes_untrusted, 8 + 16 * i);
        const auto dtype = static_cast<protocol::DType>(segment.dtype);
        if (segment.dtype > UINT8_MAX || !protocol::is_valid(dtype) || segment.count > kCountMax)
            return corrupt();
        segments.push_back({dtype, segment.count});
    }
    return Terms{collectives::Layout(std::move(segments)), mean == 1};
}

}  // namespace pace::partial
