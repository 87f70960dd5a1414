#include "daemon/server/letter.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/server/tests/test_vectors.h"

namespace pace::server {
namespace {

using base::ErrorKind;

TEST(Letter, AHeadIsReadBack) {
    const Letter letter{LetterKind::part, 3, 4, 5, 6, 7, 8, false, 9, 36};
    const auto read = read_head(write_head(letter), 9);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, letter);
    EXPECT_EQ(read_head(write_head(letter), 8).error().kind, ErrorKind::corrupt);
}

TEST(Letter, ElementsAreReadBackWhateverTheirForm) {
    base::Random random(2);
    for (const size_t length : {size_t{0}, size_t{1}, size_t{77}, size_t{5000}})
        for (const double share : {0.0, 0.01, 0.4, 1.0}) {
            const std::vector<float> elements = drawn(length, share, random);
            Letter letter;
            const HybridVector vector = HybridVector::of(elements);
            const auto bytes = write_elements(vector, letter);
            EXPECT_EQ(letter.bytes, bytes.size());
            ASSERT_TRUE(read_head(write_head(letter), length));
            const auto read = read_vector(letter, length, bytes);
            ASSERT_TRUE(read) << read.error().message;
            EXPECT_EQ(whole(*read), elements);
        }
}

TEST(Letter, FewEntriesTakeFewBytes) {
    Letter letter;
    sparse::Entries entries;
    for (uint32_t i = 0; i < 300; ++i) entries.push_back(i * 10000, 1.0F);
    EXPECT_LT(write_elements(HybridVector::of(3200000, entries), letter).size(), 300 * 6.5);
}

TEST(Letter, WhatIsNoLetterIsRefused) {
    const Letter good{LetterKind::update, 0, 0, 1, 0, 0, 0, false, 4, 16};
    for (const auto& [at, value] : {std::pair(0, 0), {0, 7}, {1, 2}, {2, 1}, {12, 1}}) {
        LetterHead head = write_head(good);
        head[static_cast<size_t>(at)] = static_cast<std::byte>(value);
        EXPECT_FALSE(read_head(head, 100)) << at;
    }
    Letter lying = good;
    lying.bytes = 20;
    EXPECT_FALSE(read_head(write_head(lying), 100));
    lying = good;
    lying.sparse = true;
    lying.bytes = 1000;
    EXPECT_FALSE(read_head(write_head(lying), 100));
}

TEST(Letter, ACheckpointsFileIsBounded) {
    Letter letter{LetterKind::checkpoint, 3, 0, 5, 0, 7, 0, false, 0, 12345};
    const auto read = read_head(write_head(letter), 100);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, letter);
    letter.bytes = checkpoint_bytes_max(100) + 1;
    EXPECT_FALSE(read_head(write_head(letter), 100));
    letter.bytes = 4;
    letter.count = 1;
    EXPECT_FALSE(read_head(write_head(letter), 100));
}

TEST(Letter, ElementsThatAreNotTheShardsAreRefused) {
    Letter dense;
    const auto bytes = write_elements(std::vector<float>{1, 2, 3}, dense);
    EXPECT_FALSE(read_vector(dense, 4, bytes));
    EXPECT_FALSE(read_floats(dense, 3, std::span(bytes).first(8)));
    Letter sparse;
    auto coded = write_elements(HybridVector::of(100, {{3, 50}, {1, 2}}), sparse);
    EXPECT_FALSE(read_floats(sparse, 100, coded));
    EXPECT_FALSE(read_vector(sparse, 1, coded));
    Letter more = sparse;
    more.count = 3;
    EXPECT_FALSE(read_vector(more, 100, coded));
    base::Random random(5);
    for (int i = 0; i < 2000; ++i) {
        auto bad = coded;
        bad[random.below(bad.size())] = static_cast<std::byte>(random.below(256));
        if (const auto read = read_vector(sparse, 100, bad)) {
            const sparse::Entries& entries = read->entries();
            for (const uint32_t index : entries.indices) ASSERT_LT(index, 100U);
        }
    }
}

}  // namespace
}  // namespace pace::server
