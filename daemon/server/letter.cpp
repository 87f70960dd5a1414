#include "daemon/server/letter.h"

#include <bit>
#include <cstring>

#include "daemon/sparse/wire/wire.h"

namespace pace::server {

using base::ErrorKind;
using base::Result;

static_assert(std::endian::native == std::endian::little, "letters are little-endian");

namespace {

constexpr sparse::WireFormat kFormat{sparse::IndexFormat::elias_fano, sparse::ValueFormat::f32};

// The head's layout in memory.
struct Head {
    uint8_t kind;
    uint8_t form;
    uint16_t zero;
    uint32_t shard;
    uint32_t rank;
    uint32_t reserved;
    uint64_t generation;
    uint64_t clock;
    uint64_t position;
    uint64_t slowest;
    uint64_t count;
    uint64_t bytes;
};
static_assert(sizeof(Head) == kLetterBytes);

base::Error corrupt(const Letter& letter, std::string_view what) {
    return base::make_error(ErrorKind::corrupt,
                            "a peer's letter about shard {} (rank {}, clock {}) {}", letter.shard,
                            letter.rank, letter.clock, what);
}

}  // namespace

LetterHead write_head(const Letter& letter) {
    const Head head{static_cast<uint8_t>(letter.kind),
                    static_cast<uint8_t>(letter.sparse ? 1 : 0),
                    0,
                    letter.shard,
                    letter.rank,
                    0,
                    letter.generation,
                    letter.clock,
                    letter.position,
                    letter.slowest,
                    letter.count,
                    letter.bytes};
    return std::bit_cast<LetterHead>(head);
}

Result<Letter> read_head(std::span<const std::byte, kLetterBytes> head_untrusted,
                         uint64_t elements_max) {
    Head head{};
    std::memcpy(&head, head_untrusted.data(), sizeof(head));
    Letter letter;
    letter.kind = static_cast<LetterKind>(head.kind);
    letter.shard = head.shard;
    letter.rank = head.rank;
    letter.generation = head.generation;
    letter.clock = head.clock;
    letter.position = head.position;
    letter.slowest = head.slowest;
    letter.sparse = head.form == 1;
    letter.count = head.count;
    letter.bytes = head.bytes;
    if (letter.kind < LetterKind::update || letter.kind > LetterKind::kept || head.form > 1 ||
        head.zero != 0 || head.reserved != 0)
        return corrupt(letter, "is of no kind");
    if (letter.count > elements_max) return corrupt(letter, "has more elements than the model");
    if (letter.kind == LetterKind::checkpoint) {
        if (letter.sparse || letter.count != 0 || letter.bytes > checkpoint_bytes_max(elements_max))
            return corrupt(letter, "has no checkpoint of that model");
        return letter;
    }
    if (!letter.sparse && letter.bytes != letter.count * sizeof(float))
        return corrupt(letter, "has elements of another size");
    // An index takes at most 8 bytes: 2 bits and its lower part.
    if (letter.sparse && letter.bytes > 64 + letter.count * 16)
        return corrupt(letter, "has more bytes than its entries take");
    return letter;
}

std::span<const std::byte> name_elements(std::span<const float> elements, Letter& letter) {
    letter.sparse = false;
    letter.count = elements.size();
    letter.bytes = elements.size() * sizeof(float);
    return std::as_bytes(elements);
}

std::vector<std::byte> write_elements(std::span<const float> elements, Letter& letter) {
    const auto bytes = name_elements(elements, letter);
    return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> write_elements(const HybridVector& vector, Letter& letter) {
    if (vector.is_dense()) return write_elements(vector.elements(), letter);
    const sparse::Entries& entries = vector.entries();
    const sparse::Frame frame{vector.length(), entries.size()};
    std::vector<std::byte> bytes(sparse::coded_bytes(kFormat, frame, entries.size()));
    sparse::encode(kFormat, frame, entries, bytes);
    letter.sparse = true;
    letter.count = entries.size();
    letter.bytes = bytes.size();
    return bytes;
}

Result<std::span<const float>> read_floats(const Letter& letter, size_t length,
                                           std::span<const std::byte> bytes_untrusted) {
    if (letter.sparse || letter.count != length || bytes_untrusted.size() != length * sizeof(float))
        return corrupt(letter, "has not the shard's elements");
    return std::span(reinterpret_cast<const float*>(bytes_untrusted.data()), length);
}

Result<HybridVector> read_vector(const Letter& letter, size_t length,
                                 std::span<const std::byte> bytes_untrusted) {
    if (!letter.sparse) {
        PACE_TRY_ASSIGN(elements, read_floats(letter, length, bytes_untrusted));
        return HybridVector::of(elements);
    }
    if (letter.count > length) return corrupt(letter, "has more entries than the shard elements");
    auto entries =
        sparse::decode(kFormat, {length, static_cast<size_t>(letter.count)}, bytes_untrusted);
    if (!entries) return corrupt(letter, entries.error().message);
    if (entries->size() != letter.count) return corrupt(letter, "has fewer entries than it says");
    return HybridVector::of(length, std::move(*entries));
}

}  // namespace pace::server
