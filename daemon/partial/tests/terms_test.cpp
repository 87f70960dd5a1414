// Tests what a node without calls is told about the buffers.
#include <gtest/gtest.h>

#include "daemon/partial/terms.h"

namespace pace::partial {
namespace {

using collectives::Layout;
using protocol::DType;

bool are_equal(const Terms& a, const Terms& b) {
    const auto& x = a.layout.segments();
    const auto& y = b.layout.segments();
    if (a.mean != b.mean || x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
        if (x[i].dtype != y[i].dtype || x[i].count != y[i].count) return false;
    return true;
}

const Terms kTerms[] = {
    {Layout({{DType::f32, 3}}), true},
    {Layout({{DType::f32, 3}}), false},
    {Layout({{DType::f64, 3}}), true},
    {Layout({{DType::f32, 4}}), true},
    {Layout({{DType::f32, 3}, {DType::bf16, 0}}), true},
    {Layout(std::vector<collectives::Segment>(kTermsSegmentsMax, {DType::f16, 1000})), false},
};

TEST(Terms, AreReadAsTheyWereWritten) {
    for (const Terms& terms : kTerms) {
        const auto bytes = write(terms);
        ASSERT_EQ(bytes.size(), kTermsBytes);
        const auto read = read_terms(bytes);
        ASSERT_TRUE(read.ok());
        EXPECT_TRUE(are_equal(*read, terms));
    }
}

TEST(Terms, HaveTheirOwnDigests) {
    for (const Terms& one : kTerms)
        for (const Terms& other : kTerms)
            EXPECT_EQ(digest_of(one) == digest_of(other), are_equal(one, other));
}

TEST(Terms, NonsenseIsRefused) {
    const auto good = write(kTerms[0]);
    EXPECT_FALSE(read_terms(std::span(good).first(good.size() - 1)).ok());
    for (const size_t byte : {0U, 5U, 6U, 7U, 8U, 9U, 11U, 23U}) {
        auto bad = good;
        bad[byte] = std::byte{0xEE};
        const auto read = read_terms(bad);
        ASSERT_FALSE(read.ok()) << byte;
        EXPECT_EQ(read.error().kind, base::ErrorKind::corrupt);
    }
}

}  // namespace
}  // namespace pace::partial
