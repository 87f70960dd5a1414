// Journal format: a header, then records that each carry a checksum.
//
//     file   := header record*
//     header := "PACEJRNL" version:u32 reserved:u32
//     record := length:u32 behind:u32 checksum:u64 payload[length]         (little endian)
//
// The checksum is XXH3 of the other fields, seeded with the record's offset in the file. So a
// record that is torn, corrupted, moved or left from before a cut does not match. The first record
// that does not match ends the journal, since nothing after that record can be trusted.
//
// `behind` is the distance from the end of the durable bytes, at the time of writing, to the
// record. This tells a crash from damage. A crash tears only bytes that were not yet durable, so no
// record after a torn place says that the place was durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::controller {

inline constexpr uint32_t kJournalFormatVersion = 1;
inline constexpr size_t kJournalHeaderBytes = 16;
inline constexpr size_t kRecordHeaderBytes = 16;
inline constexpr size_t kRecordBytesMax = size_t{16} << 20U;

std::vector<std::byte> journal_header();

// Appends to `bytes` the record for `offset` in the file. `payload` is at most kRecordBytesMax;
// `durable_end` is at most `offset`.
void append_record(std::vector<std::byte>& bytes, uint64_t offset,
                   std::span<const std::byte> payload, uint64_t durable_end);

struct RecoveredJournal {
    std::vector<std::span<const std::byte>> records;  // point into the given bytes
    uint64_t good_bytes = 0;  // offset of the next record; 0: write the header first
    std::string cut_because;  // why reading ended early; empty if it did not
    // The offset of a whole record that says that the bytes where reading ended were durable once.
    // No crash does that. 0: no such record.
    uint64_t whole_behind = 0;
};

// Reads a journal as far as it can be trusted. Pure. Errors: corrupt if this is another kind of
// file; version if a newer Pace wrote the file. Neither may be cut.
base::Result<RecoveredJournal> recover_journal(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::controller
