// The journal's bytes: a header, then records, each of which proves itself.
//
//     file   := header record*
//     header := "PACEJRNL" version:u32 reserved:u32
//     record := length:u32 behind:u32 checksum:u64 payload[length]         (little endian)
//
// The checksum is XXH3 of all that, seeded with the record's offset in the file: a record
// that was torn, flipped, moved or left over from before a cut does not match. The first record
// that does not match ends the journal; what follows cannot be trusted to follow.
//
// `behind` is how far the record lies behind the end of what was durable when it was written. So a crash, which tears only what was not
// durable yet, can be told from damage: behind what a crash has torn no record says that the torn place was durable before it.
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

// Appends to `bytes` the record that is to lie at `offset` in the file. `payload` is at most
// kRecordBytesMax; `durable_end` is at most `offset`.
void append_record(std::vector<std::byte>& bytes, uint64_t offset,
                   std::span<const std::byte> payload, uint64_t durable_end);

struct RecoveredJournal {
    std::vector<std::span<const std::byte>> records;  // into the bytes given
    uint64_t good_bytes = 0;  // where the next record goes; 0: the header must be written first
    std::string cut_because;  // why reading ended before the end; empty if it did not
    // Not 0: the bytes where reading ended were durable once, and this is where a whole record lies behind them. No crash does that.
    uint64_t whole_behind = 0;
};

// Reads a journal as far as it can be trusted. Pure. Fails with corrupt if this is another kind of
// file, and with version if a newer Pace wrote it: neither may be cut.
base::Result<RecoveredJournal> recover_journal(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::controller
