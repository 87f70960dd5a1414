#include "service/controller/shell/journal/journal_format.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::controller {
namespace {

std::vector<std::byte> payload_of(size_t size, uint8_t fill) {
    return std::vector<std::byte>(size, static_cast<std::byte>(fill));
}

std::vector<std::byte> journal_of(const std::vector<std::vector<std::byte>>& payloads) {
    auto bytes = journal_header();
    for (const auto& payload : payloads) append_record(bytes, bytes.size(), payload, bytes.size());
    return bytes;
}

// A journal whose records were all written in one batch.
std::vector<std::byte> batch_of(const std::vector<std::vector<std::byte>>& payloads) {
    auto bytes = journal_header();
    for (const auto& payload : payloads)
        append_record(bytes, bytes.size(), payload, kJournalHeaderBytes);
    return bytes;
}

const std::vector<std::vector<std::byte>> kPayloads{payload_of(5, 1), payload_of(0, 0),
                                                    payload_of(300, 7), payload_of(1, 255)};

TEST(JournalFormat, RecordsComeBackInOrder) {
    const auto bytes = journal_of(kPayloads);
    const auto recovered = recover_journal(bytes);
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->good_bytes, bytes.size());
    EXPECT_EQ(recovered->cut_because, "");
    ASSERT_EQ(recovered->records.size(), kPayloads.size());
    for (size_t i = 0; i < kPayloads.size(); ++i)
        EXPECT_TRUE(std::equal(recovered->records[i].begin(), recovered->records[i].end(),
                               kPayloads[i].begin(), kPayloads[i].end()));
}

TEST(JournalFormat, ATailTornAtAnyByteLosesOnlyTheTornRecord) {
    const auto bytes = journal_of(kPayloads);
    std::vector<size_t> ends{kJournalHeaderBytes};
    for (const auto& payload : kPayloads)
        ends.push_back(ends.back() + kRecordHeaderBytes + payload.size());
    for (size_t size = 0; size <= bytes.size(); ++size) {
        const std::vector<std::byte> torn(bytes.begin(),
                                          bytes.begin() + static_cast<ptrdiff_t>(size));
        const auto recovered = recover_journal(torn);
        ASSERT_TRUE(recovered) << size;
        size_t whole = 0;
        while (whole + 1 < ends.size() && ends[whole + 1] <= size) ++whole;
        EXPECT_EQ(recovered->records.size(), whole) << size;
        EXPECT_EQ(recovered->good_bytes, size < kJournalHeaderBytes ? 0 : ends[whole]) << size;
        const bool clean = size == 0 || (size >= kJournalHeaderBytes && ends[whole] == size);
        EXPECT_EQ(recovered->cut_because.empty(), clean) << size;
    }
}

TEST(JournalFormat, AFlippedBitEndsTheJournalBeforeItsRecord) {
    const auto bytes = journal_of(kPayloads);
    for (size_t bit = kJournalHeaderBytes * 8; bit < bytes.size() * 8; ++bit) {
        auto flipped = bytes;
        flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const auto recovered = recover_journal(flipped);
        ASSERT_TRUE(recovered) << bit;
        EXPECT_LE(recovered->good_bytes, bit / 8) << bit;
        EXPECT_LT(recovered->records.size(), kPayloads.size()) << bit;
        EXPECT_FALSE(recovered->cut_because.empty()) << bit;
    }
}

TEST(JournalFormat, DamageBeforeARecordThatWasWrittenLaterIsNoTornTail) {
    const auto bytes = journal_of(kPayloads);
    const size_t last = bytes.size() - kRecordHeaderBytes - 1;
    for (size_t at = kJournalHeaderBytes; at < bytes.size(); ++at) {
        auto damaged = bytes;
        damaged[at] ^= std::byte{0x10};
        const auto recovered = recover_journal(damaged);
        ASSERT_TRUE(recovered) << at;
        EXPECT_EQ(recovered->whole_behind != 0, at < last) << at;
        if (recovered->whole_behind != 0) {
            EXPECT_GT(recovered->whole_behind, at);
        }
    }
}

TEST(JournalFormat, WhatACrashTearsWithinOneBatchIsATornTail) {
    const auto bytes = batch_of(kPayloads);
    EXPECT_EQ(recover_journal(bytes)->records.size(), kPayloads.size());
    for (size_t at = kJournalHeaderBytes; at < bytes.size(); ++at) {
        auto torn = bytes;
        torn[at] ^= std::byte{0x10};
        const auto recovered = recover_journal(torn);
        ASSERT_TRUE(recovered) << at;
        EXPECT_FALSE(recovered->cut_because.empty());
        EXPECT_EQ(recovered->whole_behind, 0U) << at;
    }
}

TEST(JournalFormat, AFlippedBitInTheHeaderIsRefusedNotCut) {
    const auto bytes = journal_of(kPayloads);
    for (size_t bit = 0; bit < 12U * 8; ++bit) {
        auto flipped = bytes;
        flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const auto recovered = recover_journal(flipped);
        ASSERT_FALSE(recovered) << bit;
        EXPECT_EQ(recovered.error().kind,
                  bit < 64 ? base::ErrorKind::corrupt : base::ErrorKind::version);
    }
}

TEST(JournalFormat, ARecordLeftOverFromBeforeACutIsNotBelieved) {
    // The journal was cut after the first record and a shorter one was written. The old third
    // record is still whole behind it, but at a place for which it was not written.
    auto bytes = journal_of({kPayloads[0], payload_of(2, 9)});
    const auto old = journal_of({kPayloads[0], payload_of(3, 9), kPayloads[2]});
    bytes.insert(bytes.end(), old.end() - 316, old.end());
    const auto recovered = recover_journal(bytes);
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->records.size(), 2U);
    EXPECT_EQ(recovered->cut_because, "a record's checksum is wrong");
}

TEST(JournalFormat, AnotherKindOfFileIsRefused) {
    const std::string text = "#!/bin/sh\necho this is somebody's script\n";
    const auto recovered = recover_journal(std::as_bytes(std::span(text)));
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().kind, base::ErrorKind::corrupt);
    const std::string small = "#!";
    EXPECT_FALSE(recover_journal(std::as_bytes(std::span(small))));
}

TEST(JournalFormat, NoiseAfterTheHeaderIsCut) {
    base::Random random(11);
    for (int round = 0; round < 5'000; ++round) {
        auto bytes = journal_header();
        const size_t noise = random.below(100);
        for (size_t i = 0; i < noise; ++i)
            bytes.push_back(static_cast<std::byte>(random.below(256)));
        const auto recovered = recover_journal(bytes);
        ASSERT_TRUE(recovered);
        EXPECT_TRUE(recovered->records.empty());
    }
}

}  // namespace
}  // namespace pace::controller
