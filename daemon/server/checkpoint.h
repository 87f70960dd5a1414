// Checkpoint: one shard of a model on disk, at one position of the job's order. All shards at one
// position form a consistent model, with the workers' clocks; each file has all clocks.
//
// Format of the PackedWriter's file, little-endian:
//
//     | "PACESHRD" | version u32 | length of the job's name u32, name | token u64, generation u64 |
//     | elements of the model u64 | shards u32, shard u32 | position u64, fastest u64, pushes u64 |
//     | workers u64: rank u32, clock u64, version u64, prefetched u64 each |
//     | versions u64: version u64, updates u64 each | elements of the shard as f32 |
//     | sums u64: version u64, rate f64, dense u64, entries u64, indices u32 each unless dense,
//       values f32 each |
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "daemon/server/byte_reader.h"
#include "daemon/server/order.h"
#include "daemon/server/packed_file.h"
#include "daemon/server/partition.h"
#include "daemon/server/shard.h"

namespace pace::server {

inline constexpr uint32_t kCheckpointVersion = 1;

struct Checkpoint {
    std::string job;
    // The job's token. Another job of the same name has another token.
    uint64_t token = 0;
    uint64_t generation = 0;  // of the model
    size_t elements = 0;      // of the whole model
    uint32_t shards = 1;
    uint32_t shard = 0;
    // Its position is the shard's.
    Ledger ledger;
};

// Writes a settled shard. Blocks for the disk. Errors: those of PackedWriter.
base::Result<> write_checkpoint(PackedWriter& file, const Checkpoint& about, const Shard& shard);

struct ReadCheckpoint {
    Checkpoint about;
    Shard shard{0};
};

// Reads the description of a checkpoint, and nothing after it. Errors: those of read_checkpoint().
base::Result<Checkpoint> read_about(ByteReader& bytes_untrusted);

// Reads untrusted bytes. Errors: corrupt, unless write_checkpoint() could have written the bytes.
// version, for another format version. limit, for a shard of more than `elements_max` elements.
base::Result<ReadCheckpoint> read_checkpoint(ByteReader& bytes_untrusted, size_t elements_max);

}  // namespace pace::server
