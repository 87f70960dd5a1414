// Letter: what two daemons of a server job say to each other about a shard: a head of fixed size, and elements.
//
//     head: kind u8, form u8, 0 u16 | shard u32 | rank u32 | 0 u32 | generation u64 | clock u64 | position u64 |
//           slowest u64 | count u64 | bytes u64             little-endian, kLetterBytes in all
//     elements: dense, count floats; or sparse, count indices in Elias-Fano code and as many floats (daemon/sparse/wire.h);
//               of a checkpoint's, count is 0 and they are its file
//
// What comes in is checked: a peer may be of another mind about the job, or broken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/server/hybrid_vector.h"

namespace pace::server {

enum class LetterKind : uint8_t {
    update = 1,  // a worker's update of this clock, of a shard
    held =
        2,  // the answer: the shard holds it; with the same position, which tells one push from another
    part = 3,   // what a worker has pulled for this clock, of a shard, at this position
    model = 4,  // what a round, the clock, makes of a shard
    checkpoint =
        5,  // a shard's file of the checkpoint at this position, of which the node is to keep a copy
    kept = 6,  // the answer; with rank 1 if it could not
};

struct Letter {
    LetterKind kind = LetterKind::update;
    uint32_t shard = 0;
    uint32_t rank = 0;
    uint64_t generation = 0;
    uint64_t clock = 0;
    uint64_t position = 0;
    uint64_t slowest = 0;
    // Of the elements that follow.
    bool sparse = false;
    uint64_t count = 0;
    uint64_t bytes = 0;
    bool operator==(const Letter&) const = default;
};

inline constexpr size_t kLetterBytes = 64;
using LetterHead = std::array<std::byte, kLetterBytes>;

// Of a checkpoint's file of a shard, in a model of so many elements: many live versions, whole.
constexpr uint64_t checkpoint_bytes_max(uint64_t elements) {
    return (uint64_t{16} << 20U) + elements * sizeof(float) * 128;
}

LetterHead write_head(const Letter& letter);
// ErrorKind::corrupt unless write_head() writes these bytes, of a letter with at most `elements_max` elements.
base::Result<Letter> read_head(std::span<const std::byte, kLetterBytes> head_untrusted,
                               uint64_t elements_max);

// The elements of `vector`, which is settled, and in `letter` what its head says of them.
std::vector<std::byte> write_elements(const HybridVector& vector, Letter& letter);
std::vector<std::byte> write_elements(std::span<const float> elements, Letter& letter);
// The same of dense ones, where they lie.
std::span<const std::byte> name_elements(std::span<const float> elements, Letter& letter);

// ErrorKind::corrupt unless they are elements of a vector of `length`, as the letter says.
base::Result<HybridVector> read_vector(const Letter& letter, size_t length,
                                       std::span<const std::byte> bytes_untrusted);
// Dense ones, where they lie, which is where a float may lie. ErrorKind::corrupt if there are not `length`.
base::Result<std::span<const float>> read_floats(const Letter& letter, size_t length,
                                                 std::span<const std::byte> bytes_untrusted);

}  // namespace pace::server
