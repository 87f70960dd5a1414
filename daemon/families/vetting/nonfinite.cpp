#include "daemon/families/vetting/nonfinite.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace pace::daemon {

namespace {

constexpr size_t kGrain = size_t{1} << 16U;
constexpr size_t kNone = SIZE_MAX;

// Without their signs, floats are in the order of their bits: infinity is above all finite values,
// and NaNs are above infinity.
template <typename Bits>
size_t first_in(const std::byte* data, size_t begin, size_t end, Bits limit) {
    constexpr Bits kWithoutSign = static_cast<Bits>(~Bits{0}) >> 1U;
    Bits found = 0;
    const auto bits_at = [data](size_t i) {
        Bits bits;
        std::memcpy(&bits, data + i * sizeof(Bits), sizeof(Bits));
        return bits;
    };
    for (size_t i = begin; i < end; ++i)
        found = static_cast<Bits>(found | ((bits_at(i) & kWithoutSign) >= limit ? 1 : 0));
    if (found == 0) return kNone;
    for (size_t i = begin; i < end; ++i)
        if ((bits_at(i) & kWithoutSign) >= limit) return i;
    return kNone;
}

// The least float that becomes infinite as `half`, where ties go to the even neighbour. Infinity
// itself if nothing is rounded.
uint32_t limit_f32(std::optional<protocol::DType> half) {
    if (half == protocol::DType::f16) return 0x477FF000;   // 65520
    if (half == protocol::DType::bf16) return 0x7F7F8000;  // 3.396e38
    return 0x7F800000;
}

// Doubles are rounded to float first. So the limit is the middle between that float and the one
// before.
uint64_t limit_f64(std::optional<protocol::DType> half) {
    if (!half) return uint64_t{0x7FF} << 52U;
    const double limit = std::bit_cast<float>(limit_f32(half));
    const double before = std::bit_cast<float>(limit_f32(half) - 1);
    return std::bit_cast<uint64_t>((before + limit) / 2);
}

size_t first_in(const Buffer& buffer, std::optional<protocol::DType> half, size_t begin,
                size_t end) {
    const std::byte* data = buffer.memory.data();
    switch (buffer.dtype) {
        case protocol::DType::f64:
            return first_in<uint64_t>(data, begin, end, limit_f64(half));
        case protocol::DType::f16:
            return first_in<uint16_t>(data, begin, end, uint16_t{0x7C00});
        case protocol::DType::bf16:
            return first_in<uint16_t>(data, begin, end, uint16_t{0x7F80});
        case protocol::DType::u32:
            return kNone;
        case protocol::DType::f32:
            break;
    }
    return first_in<uint32_t>(data, begin, end, limit_f32(half));
}

// Counts elements over all buffers.
class Search {
  public:
    Search(const std::vector<BufferPtr>& buffers, std::optional<protocol::DType> half)
        : buffers_(buffers), half_(half) {}

    size_t elements() const {
        size_t count = 0;
        for (const BufferPtr& buffer : buffers_) count += buffer->count;
        return count;
    }
    size_t bytes() const {
        size_t bytes = 0;
        for (const BufferPtr& buffer : buffers_) bytes += buffer->bytes();
        return bytes;
    }

    // Any thread.
    void look(size_t begin, size_t end) {
        size_t at = 0;
        for (const BufferPtr& buffer : buffers_) {
            const size_t from = std::max(begin, at);
            const size_t to = std::min<size_t>(end, at + buffer->count);
            const size_t found = from < to ? first_in(*buffer, half_, from - at, to - at) : kNone;
            if (found != kNone) {
                note(at + found);
                return;
            }
            at += buffer->count;
        }
    }

    std::optional<Place> place() const {
        size_t element = first_;
        for (size_t i = 0; i < buffers_.size(); ++i) {
            if (element < buffers_[i]->count) return Place{i, element};
            element -= std::min<size_t>(element, buffers_[i]->count);
        }
        return std::nullopt;
    }

  private:
    void note(size_t element) {
        size_t known = first_.load();
        while (element < known && !first_.compare_exchange_weak(known, element)) {
        }
    }

    std::vector<BufferPtr> buffers_;
    std::optional<protocol::DType> half_;
    std::atomic<size_t> first_ = kNone;
};

}  // namespace

void find_nonfinite(const kernels::Aside& aside, const std::vector<BufferPtr>& buffers,
                    std::optional<protocol::DType> half,
                    std::function<void(std::optional<Place>)> found) {
    const auto search = std::make_shared<Search>(buffers, half);
    aside.run(
        search->bytes(), search->elements(), kGrain,
        [search](size_t begin, size_t end) { search->look(begin, end); },
        [search, found = std::move(found)] { found(search->place()); });
}

}  // namespace pace::daemon
