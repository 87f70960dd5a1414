#include "service/controller/shell/journal/journal_format.h"

#include <algorithm>
#include <array>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pace::controller {

namespace {

constexpr std::array<char, 8> kMagic{'P', 'A', 'C', 'E', 'J', 'R', 'N', 'L'};

template <typename Number>
void put(std::vector<std::byte>& bytes, Number number) {
    for (size_t i = 0; i < sizeof(Number); ++i)
        bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
}

template <typename Number>
Number get(std::span<const std::byte> bytes, size_t at) {
    Number number = 0;
    for (size_t i = 0; i < sizeof(Number); ++i)
        number |= static_cast<Number>(static_cast<Number>(bytes[at + i]) << (8 * i));
    return number;
}

uint64_t checksum(uint64_t offset, uint32_t behind, std::span<const std::byte> payload) {
    // The header fields go into the seed: one pass over the payload, no copy.
    constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;
    const uint64_t seed =
        offset ^ (static_cast<uint64_t>(payload.size()) << 40U) ^ (behind * kSpread);
    return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

// Whether a whole record that was written for this place begins here.
bool is_whole(std::span<const std::byte> bytes, size_t at) {
    if (bytes.size() - at < kRecordHeaderBytes) return false;
    const size_t length = get<uint32_t>(bytes, at);
    if (length > kRecordBytesMax || length > bytes.size() - at - kRecordHeaderBytes) return false;
    return get<uint64_t>(bytes, at + 8) == checksum(at, get<uint32_t>(bytes, at + 4),
                                                    bytes.subspan(at + kRecordHeaderBytes, length));
}

// Why no whole record begins here; null: one does.
const char* flaw_at(std::span<const std::byte> bytes, size_t at) {
    if (bytes.size() - at < kRecordHeaderBytes) return "a record's header is incomplete";
    const size_t length = get<uint32_t>(bytes, at);
    if (length > kRecordBytesMax) return "a record's length is impossible";
    if (length > bytes.size() - at - kRecordHeaderBytes) return "a record is incomplete";
    return is_whole(bytes, at) ? nullptr : "a record's checksum is wrong";
}

// Finds a record after the bad place that was written when the bad place was already durable. 0 if
// there is none. Lengths may be noise like any other bytes, so the number of bytes hashed in vain
// is bounded.
size_t find_whole_behind(std::span<const std::byte> bytes, size_t bad) {
    size_t to_hash = kRecordBytesMax * 16;
    for (size_t at = bad + 1; at + kRecordHeaderBytes <= bytes.size(); ++at) {
        const size_t length = get<uint32_t>(bytes, at);
        const size_t behind = get<uint32_t>(bytes, at + 4);
        if (length > bytes.size() - at - kRecordHeaderBytes || behind > at || at - behind <= bad)
            continue;
        if (length > to_hash) return 0;
        to_hash -= length;
        if (is_whole(bytes, at)) return at;
    }
    return 0;
}

base::Result<> check_header(std::span<const std::byte> bytes) {
    if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
        return base::make_error(base::ErrorKind::corrupt,
                                "this is no journal of Pace; name another file");
    if (const auto version = get<uint32_t>(bytes, kMagic.size()); version != kJournalFormatVersion)
        return base::make_error(base::ErrorKind::version,
                                "the journal has version {}, this controller writes version {}; "
                                "run the controller that wrote it",
                                version, kJournalFormatVersion);
    return {};
}

}  // namespace

std::vector<std::byte> journal_header() {
    std::vector<std::byte> bytes(kMagic.size());
    std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
    put<uint32_t>(bytes, kJournalFormatVersion);
    put<uint32_t>(bytes, 0);
    return bytes;
}

void append_record(std::vector<std::byte>& bytes, uint64_t offset,
                   std::span<const std::byte> payload, uint64_t durable_end) {
    const auto behind = static_cast<uint32_t>(offset - durable_end);
    put<uint32_t>(bytes, static_cast<uint32_t>(payload.size()));
    put<uint32_t>(bytes, behind);
    put<uint64_t>(bytes, checksum(offset, behind, payload));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
}

base::Result<RecoveredJournal> recover_journal(std::span<const std::byte> bytes_untrusted) {
    const std::span<const std::byte> bytes = bytes_untrusted;
    RecoveredJournal recovered;
    const std::vector<std::byte> header = journal_header();
    if (bytes.size() < kJournalHeaderBytes) {
        // The creation of the file was torn, unless the bytes show that it never was a journal.
        if (!std::equal(bytes.begin(), bytes.end(), header.begin()))
            return base::make_error(base::ErrorKind::corrupt,
                                    "this is no journal of Pace; name another file");
        if (!bytes.empty()) recovered.cut_because = "the header is incomplete";
        return recovered;
    }
    PACE_TRY(check_header(bytes));

    size_t at = kJournalHeaderBytes;
    recovered.good_bytes = at;
    while (at < bytes.size()) {
        if (const char* flaw = flaw_at(bytes, at)) {
            recovered.cut_because = flaw;
            break;
        }
        const size_t length = get<uint32_t>(bytes, at);
        recovered.records.push_back(bytes.subspan(at + kRecordHeaderBytes, length));
        at += kRecordHeaderBytes + length;
        recovered.good_bytes = at;
    }
    if (!recovered.cut_because.empty()) recovered.whole_behind = find_whole_behind(bytes, at);
    return recovered;
}

}  // namespace pace::controller
