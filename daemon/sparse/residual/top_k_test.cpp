#include "daemon/sparse/residual/top_k.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/sanitized.h"
#include "daemon/sparse/tests/reference.h"

namespace pace::sparse {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Checks that indices are equal and that values are equal bit by bit.
void expect_same(const Entries& entries, const Chosen& expected, const std::string& what) {
    ASSERT_EQ(entries.size(), expected.size()) << what;
    size_t at = 0;
    for (const auto& [index, value] : expected) {
        ASSERT_EQ(entries.indices[at], index) << what;
        ASSERT_EQ(std::bit_cast<uint32_t>(entries.values[at]), std::bit_cast<uint32_t>(value))
            << what;
        ++at;
    }
}

void expect_top_k(const std::vector<float>& vector, size_t k,
                  const std::vector<kernels::WorkerPool*>& pools, const std::string& what) {
    const Chosen expected = reference_top_k(elements_of(vector, 0, vector.size()), k);
    const size_t third = vector.size() / 3;
    const std::vector<std::span<const float>> parts = {
        std::span(vector).first(third), {}, std::span(vector).subspan(third)};
    for (kernels::WorkerPool* pool : pools) {
        expect_same(top_k(vector, k, *pool), expected, what);
        expect_same(top_k(Parts(parts), k, *pool), expected, what + ", in parts");
    }
}

TEST(TopK, EqualsASortOfFewElements) {
    kernels::WorkerPool pool(0);
    base::Random random(3);
    for (size_t size = 0; size < 200; size += 1 + size / 8)
        for (const uint64_t distinct : {2U, 5U, 1000000U}) {
            std::vector<float> vector(size);
            for (float& value : vector)
                value =
                    static_cast<float>(random.below(distinct)) - static_cast<float>(distinct) / 2;
            for (size_t k = 0; k <= size + 2; k += 1 + k / 3)
                expect_top_k(vector, k, {&pool}, fmt::format("{} of {}", k, size));
        }
}

TEST(TopK, OrdersNanAboveInfinityAndNeverTakesAZero) {
    kernels::WorkerPool pool(0);
    const std::vector<float> vector = {0.0F,  1.0F,   kInf,  -kNan,
                                       -0.0F, 1e-45F, kNan,  -kInf,
                                       3e38F, 0.0F,   -1.0F, std::bit_cast<float>(0x7FFFFFFFU)};
    for (size_t k = 0; k <= vector.size(); ++k)
        expect_top_k(vector, k, {&pool}, fmt::format("k = {}", k));
    EXPECT_EQ(top_k(vector, 2, pool).indices, (base::LargeVector<uint32_t>{3, 6}));
    EXPECT_EQ(top_k(vector, 12, pool).size(), 9U);
}

// Vectors for which a sample can be wrong.
// A sanitizer takes ten times as long.
constexpr size_t kLarge = base::kSanitized ? 20'011 : 150'007;

std::vector<std::pair<std::string, std::vector<float>>> large_vectors() {
    const size_t size = kLarge;
    base::Random random(5);
    const auto make = [&](auto value) {
        std::vector<float> vector(size);
        for (size_t i = 0; i < size; ++i) vector[i] = static_cast<float>(value(i));
        return vector;
    };
    return {
        {"uniform", make([&](size_t) { return random.uniform() - 0.5; })},
        {"bell", make([&](size_t) {
             return random.uniform() + random.uniform() + random.uniform() - 1.5;
         })},
        {"few values", make([&](size_t) { return static_cast<double>(random.below(3)); })},
        {"all equal", make([](size_t) { return 2.5; })},
        {"rising", make([](size_t i) { return static_cast<double>(i); })},
        {"falling", make([&](size_t i) { return static_cast<double>(size - i); })},
        {"zeros", make([](size_t) { return 0.0; })},
        {"mostly zeros", make([&](size_t i) { return i % 1009 == 5 ? random.uniform() : 0.0; })},
        {"great ones together", make([&](size_t i) {
             return i > 1000 && i < 9000 ? 1000 + random.uniform() : random.uniform();
         })},
        {"great ones where no sample is",
         make([&](size_t i) { return i % 64 == 63 ? 1000 + random.uniform() : random.uniform(); })},
        {"periodic", make([](size_t i) { return static_cast<double>(i % 64); })},
        {"NaN", make([&](size_t i) { return i % 7 == 0 ? kNan : random.uniform(); })},
    };
}

TEST(TopK, EqualsASortOfManyElementsHoweverTheyLie) {
    kernels::WorkerPool none(0);
    kernels::WorkerPool three(3);
    for (const auto& [name, vector] : large_vectors())
        for (const size_t k : {size_t{1}, kLarge / 50, kLarge / 4, kLarge})
            expect_top_k(vector, k, {&none, &three}, fmt::format("{} of {}", k, name));
}

TEST(TopK, AtLeastTakesWhatReachesAThreshold) {
    kernels::WorkerPool pool(1);
    base::Random random(7);
    std::vector<float> vector(200001);
    for (float& value : vector) value = static_cast<float>(random.uniform() - 0.5);
    const std::span<const float> part(vector);
    const Entries found = at_least(Parts(&part, 1), kernels::magnitude_key(0.4F), pool);
    Chosen expected;
    for (size_t i = 0; i < vector.size(); ++i)
        if (std::abs(vector[i]) >= 0.4F) expected[i] = vector[i];
    expect_same(found, expected, "at least 0.4");
}

TEST(TopK, SplitKeepsTheTopAndGivesBackTheRest) {
    base::Random random(11);
    for (size_t size = 0; size < 60; ++size) {
        Entries entries;
        Chosen elements;
        for (size_t i = 0; i < size; ++i) {
            const float value = static_cast<float>(random.below(9)) - 4;
            entries.push_back(static_cast<uint32_t>(3 * i), value);
            elements[3 * i] = value;
        }
        for (const size_t k : {0U, 1U, 7U, 100U}) {
            const Split split = split_top_k(entries, k);
            const Chosen kept = reference_top_k(elements, k);
            expect_same(split.kept, kept, "kept");
            Chosen rest = reference_top_k(elements, size);
            for (const auto& one : kept) rest.erase(one.first);
            expect_same(split.rest, rest, "rest");
        }
    }
}

}  // namespace
}  // namespace pace::sparse
