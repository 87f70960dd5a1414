#include "daemon/sparse/wire/wire.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/sparse/wire/elias_fano.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;

std::vector<WireFormat> formats() {
    std::vector<WireFormat> all;
    for (const IndexFormat index : {IndexFormat::plain, IndexFormat::elias_fano})
        for (const ValueFormat value : {ValueFormat::f32, ValueFormat::f16, ValueFormat::bf16})
            all.push_back({index, value});
    return all;
}

// Returns `count` random indices below `length`, with values that every format holds exactly.
Entries random_entries(size_t length, size_t count, base::Random& random) {
    Entries entries;
    for (size_t i = 0; i < length; ++i)
        if (random.below(length - i) < count - entries.size())
            entries.push_back(static_cast<uint32_t>(i),
                              static_cast<float>(random.below(200)) - 100);
    return entries;
}

TEST(Wire, EveryFormatGivesBackWhatItTook) {
    base::Random random(1);
    for (const WireFormat format : formats())
        for (const size_t length : {0U, 1U, 2U, 7U, 64U, 100U, 1000U, 5000U})
            for (size_t k = 0; k <= length; k += 1 + k)
                for (const size_t count : {k, k / 2, std::min<size_t>(k, 1), size_t{0}}) {
                    const Entries entries = random_entries(length, count, random);
                    ASSERT_EQ(entries.size(), count);
                    const Frame frame{length, k};
                    std::vector<std::byte> bytes(coded_bytes_max(format, frame), std::byte{7});
                    ASSERT_LE(coded_bytes(format, frame, count), bytes.size());
                    encode(format, frame, entries, bytes);
                    const base::Result<Entries> decoded = decode(format, frame, bytes);
                    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
                    ASSERT_EQ(decoded->indices, entries.indices);
                    ASSERT_EQ(decoded->values, entries.values);
                    if (count == k) {
                        const auto counted = decode_counted(format, length, k, bytes);
                        ASSERT_TRUE(counted.ok());
                        ASSERT_EQ(counted->indices, entries.indices);
                    }
                }
}

TEST(Wire, TheLeastAndTheGreatestIndicesAreHeld) {
    const size_t length = 0xFFFFFFFFU;
    for (const WireFormat format : formats()) {
        Entries entries;
        entries.push_back(0, 1);
        entries.push_back(1, 2);
        entries.push_back(0xFFFFFFFEU, 3);
        const Frame frame{length, 3};
        std::vector<std::byte> bytes(coded_bytes_max(format, frame));
        encode(format, frame, entries, bytes);
        EXPECT_EQ(decode(format, frame, bytes).value().indices, entries.indices);
    }
}

TEST(Wire, CompressedEntriesTakeAtMostHalfOfThePapersBytes) {
    // 1 % of a sixth of VGG-16's 14,728,266 parameters.
    const Frame frame{2454711, 24547};
    const auto plain = coded_bytes_max({IndexFormat::plain, ValueFormat::f32}, frame);
    EXPECT_EQ(plain, kCountBytes + 8 * frame.k);
    EXPECT_LE(2 * coded_bytes_max({IndexFormat::elias_fano, ValueFormat::f16}, frame), plain);
    // 8.6 bits an index. The least possible number is log2 of the binomial, 8.1.
    EXPECT_LE(8 * elias_fano_bytes(frame.length, frame.k, frame.k), 87 * frame.k / 10);
}

TEST(Wire, RefusesWhatIsOutOfOrderOrBounds) {
    const WireFormat format{IndexFormat::plain, ValueFormat::f32};
    const auto refused = [&](const base::LargeVector<uint32_t>& indices, Frame frame) {
        Entries entries;
        for (const uint32_t index : indices) entries.push_back(index, 1);
        std::vector<std::byte> bytes(coded_bytes(format, frame, indices.size()));
        encode(format, frame, entries, bytes);
        const auto decoded = decode(format, frame, bytes);
        return !decoded && decoded.error().kind == ErrorKind::corrupt;
    };
    EXPECT_FALSE(refused({1, 5, 9}, {10, 3}));
    EXPECT_TRUE(refused({1, 5, 10}, {10, 3}));
    EXPECT_TRUE(refused({1, 5, 5}, {10, 3}));
    EXPECT_TRUE(refused({5, 1}, {10, 3}));
    EXPECT_TRUE(refused({1, 2, 3, 4}, {10, 3}));
    EXPECT_TRUE(refused({1}, {10, 11}));
    for (size_t size = 0; size < kCountBytes; ++size)
        EXPECT_FALSE(decode(format, {10, 3}, std::vector<std::byte>(size)).ok());
}

// A valid message with a few bits changed. Sometimes it is also cut or prolonged.
std::vector<std::byte> spoiled_message(WireFormat format, const Frame& frame,
                                       base::Random& random) {
    std::vector<std::byte> bytes(coded_bytes_max(format, frame));
    encode(format, frame, random_entries(frame.length, frame.k, random), bytes);
    for (size_t i = 0; i < random.below(4); ++i)
        bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size() + 9));
    return bytes;
}

std::vector<std::byte> noise(base::Random& random) {
    std::vector<std::byte> bytes(random.below(200));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    if (bytes.size() > 3) bytes[1] = bytes[2] = bytes[3] = std::byte{0};
    return bytes;
}

TEST(Wire, WhateverBytesComeNothingOutOfBoundsIsDecoded) {
    base::Random random(2);
    size_t accepted = 0;
    for (const WireFormat format : formats())
        for (size_t trial = 0; trial < 4000; ++trial) {
            const Frame frame{random.below(300), 0};
            const Frame cut{frame.length, random.below(frame.length + 2)};
            const bool is_valid = trial % 2 == 0 && cut.k <= cut.length;
            const auto bytes = is_valid ? spoiled_message(format, cut, random) : noise(random);
            for (const bool counted : {false, true}) {
                const auto decoded = counted ? decode_counted(format, cut.length, cut.k, bytes)
                                             : decode(format, cut, bytes);
                if (!decoded) {
                    ASSERT_EQ(decoded.error().kind, ErrorKind::corrupt);
                    continue;
                }
                ++accepted;
                ASSERT_LE(decoded->size(), cut.k);
                ASSERT_EQ(decoded->values.size(), decoded->size());
                for (size_t i = 0; i < decoded->size(); ++i) {
                    ASSERT_LT(decoded->indices[i], cut.length);
                    if (i > 0) {
                        ASSERT_GT(decoded->indices[i], decoded->indices[i - 1]);
                    }
                }
            }
        }
    EXPECT_GT(accepted, 1000U);
}

TEST(Wire, RoundingHandsBackWhatItTakes) {
    const float inf = std::numeric_limits<float>::infinity();
    Entries entries;
    const std::vector<float> values = {1.0F, 1.0F / 3, -70000.0F, 1e-30F, inf, 2049.0F};
    for (size_t i = 0; i < values.size(); ++i)
        entries.push_back(static_cast<uint32_t>(i), values[i]);
    const Entries errors = round_entries(entries, ValueFormat::f16);
    // A value too large for f16 becomes the greatest finite value. A value too small is not sent at
    // all.
    EXPECT_EQ(entries.indices, (base::LargeVector<uint32_t>{0, 1, 2, 4, 5}));
    EXPECT_EQ(entries.values[2], -65504.0F);
    EXPECT_EQ(entries.values[3], inf);
    std::vector<float> sums(values.size(), 0.0F);
    for (size_t i = 0; i < entries.size(); ++i) sums[entries.indices[i]] += entries.values[i];
    for (size_t i = 0; i < errors.size(); ++i) sums[errors.indices[i]] += errors.values[i];
    EXPECT_EQ(sums, values);
}

}  // namespace
}  // namespace pace::sparse
