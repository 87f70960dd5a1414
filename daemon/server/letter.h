// Letter: a message between two daemons of a server job about a shard. It consists of a head of
// fixed size, and elements.
//
// Little-endian; the head has kLetterBytes in all:
//
//     head: kind u8, form u8, 0 u16 | shard u32 | rank u32 | 0 u32 | generation u64 | clock u64 |
//           position u64 | slowest u64 | count u64 | bytes u64
//     elements: dense, count floats; or sparse, count indices in Elias-Fano code and as many floats
//           (daemon/sparse/wire/wire.h); for a checkpoint, its file, with count 0
//
// Received letters are checked, because a peer may have another view of the job, or may be broken.
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
    // A worker's update of this clock for a shard.
    update = 1,
    // Answers an update: the shard holds the update. The position is the update's, and identifies
    // the push.
    held = 2,
    // The part of a shard that a worker has pulled for this clock, at this position.
    part = 3,
    // A shard's new contents after a round, whose number is the clock.
    model = 4,
    // A shard's file of the checkpoint at this position. The receiver is to keep a copy.
    checkpoint = 5,
    // Answers a checkpoint. The rank is 1 if the copy failed.
    kept = 6,
};

struct Letter {
    LetterKind kind = LetterKind::update;
    uint32_t shard = 0;
    uint32_t rank = 0;
    uint64_t generation = 0;
    uint64_t clock = 0;
    uint64_t position = 0;
    uint64_t slowest = 0;
    // These fields describe the elements that follow.
    bool sparse = false;
    uint64_t count = 0;
    uint64_t bytes = 0;
    bool operator==(const Letter&) const = default;
};

inline constexpr size_t kLetterBytes = 64;
using LetterHead = std::array<std::byte, kLetterBytes>;

// Returns the limit for the file of a shard's checkpoint in a model of `elements` elements. It
// allows many live versions, all of them dense.
constexpr uint64_t checkpoint_bytes_max(uint64_t elements) {
    return (uint64_t{16} << 20U) + elements * sizeof(float) * 128;
}

LetterHead write_head(const Letter& letter);
// Reads a head. Error: corrupt, unless write_head() writes these bytes for a letter of at most
// `elements_max` elements.
base::Result<Letter> read_head(std::span<const std::byte, kLetterBytes> head_untrusted,
                               uint64_t elements_max);

// Returns the elements of the settled `vector`, and describes them in `letter`.
std::vector<std::byte> write_elements(const HybridVector& vector, Letter& letter);
std::vector<std::byte> write_elements(std::span<const float> elements, Letter& letter);
// Does the same for dense elements, without a copy.
std::span<const std::byte> name_elements(std::span<const float> elements, Letter& letter);

// Reads the elements of a vector of `length`. Error: corrupt, unless they match the letter and the
// length.
base::Result<HybridVector> read_vector(const Letter& letter, size_t length,
                                       std::span<const std::byte> bytes_untrusted);
// Returns dense elements without a copy. `bytes_untrusted` must be aligned for floats. Error:
// corrupt, if there are not `length` elements.
base::Result<std::span<const float>> read_floats(const Letter& letter, size_t length,
                                                 std::span<const std::byte> bytes_untrusted);

}  // namespace pace::server
