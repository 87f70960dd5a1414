#include "base/memory/large_vector.h"

#include <array>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

constexpr size_t kLarge = LargeAllocator<uint32_t>::kLargeBytes / sizeof(uint32_t);

TEST(LargeVector, HoldsWhatIsWrittenAlsoWhileItGrows) {
    LargeVector<uint32_t> vector;
    for (uint32_t i = 0; i < kLarge + 10; ++i) vector.push_back(i);
    LargeVector<uint32_t> copy = vector;
    copy.resize(3 * kLarge);
    for (const size_t i : {size_t{0}, kLarge - 1, kLarge + 9}) EXPECT_EQ(copy[i], i);
    EXPECT_EQ(LargeVector<uint32_t>(kLarge, 7).back(), 7U);
}

// The test reserves sixteen gigabytes and touches sixteen pages. The elements are large because
// even skipping an element takes time, and more time in a sanitizer's build.
TEST(LargeVector, TouchesNothingThatIsNotWritten) {
    using Page = std::array<std::byte, 4096>;
    std::vector<LargeVector<Page>> vectors;
    for (int i = 0; i < 16; ++i)
        vectors.emplace_back((size_t{1} << 30U) / sizeof(Page)).front()[0] = std::byte{1};
    EXPECT_EQ(vectors.back().front()[0], std::byte{1});
}

TEST(LargeVector, OfMoreThanThereIsHasNoMemory) {
    LargeVector<uint32_t> vector;
    EXPECT_THROW(vector.reserve(size_t{1} << 60U), std::bad_alloc);
}

}  // namespace
}  // namespace pace::base
