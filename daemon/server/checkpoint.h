// Checkpoint: one shard of a model on disk, at one position of the job's order. Those of all shards at one position are a
// consistent model, with the clocks that belong to it; each file has the clocks whole.
//
// In a PackedWriter's file, little-endian:
//
//     | "PACESHRD" | version u32 | length of the job's name u32, name | token u64, generation u64 |
//     | elements of the model u64 | shards u32, shard u32 |
//     | position u64, fastest u64, pushes u64 | workers u64: rank u32, clock u64, version u64, prefetched u64 each |
//     | versions u64: version u64, updates u64 each | elements of the shard as f32 |
//     | sums u64: version u64, rate f64, dense u64, entries u64, indices u32 each unless dense, values f32 each |
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
    uint64_t token = 0;       // of the job, which another of its name has not
    uint64_t generation = 0;  // of its model
    size_t elements = 0;      // of the whole model
    uint32_t shards = 1;
    uint32_t shard = 0;
    Ledger ledger;  // at whose position the shard is
};

// The shard is settled. Blocks for the disk; errors: PackedWriter's.
base::Result<> write_checkpoint(PackedWriter& file, const Checkpoint& about, const Shard& shard);

struct ReadCheckpoint {
    Checkpoint about;
    Shard shard{0};
};

// What a checkpoint says of itself; nothing after it is read. Errors as of read_checkpoint().
base::Result<Checkpoint> read_about(ByteReader& bytes_untrusted);

// Of bytes that nobody vouches for. ErrorKind::corrupt of what write_checkpoint() did not write, version of another
// version's, limit of a shard of more than `elements_max` elements.
base::Result<ReadCheckpoint> read_checkpoint(ByteReader& bytes_untrusted, size_t elements_max);

}  // namespace pace::server
