// What a node is told of a round that it missed: it gets all that the others know, and nothing from
// bytes that another node has garbled.
#include "daemon/families/rounds/told_round.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/collectives/layout/layout.h"

namespace pace::daemon {
namespace {

using partial::RoundOutcome;
using partial::Verdict;
using protocol::DType;

class ToldRoundTest : public testing::Test {
  protected:
    static RoundOutcome sum_of(std::vector<partial::Contributor> contributors, double divisor) {
        return {Verdict::sum, std::move(contributors), divisor, {}};
    }
    std::vector<std::byte> honest() const {
        return write({sum_of({{7, 0}, {2, 3}}, 4), terms_}, roster_);
    }
    base::Result<ToldRound> read(const std::vector<std::byte>& bytes) const {
        return read_told_round(roster_, bytes);
    }
    void expect_corrupt(const std::vector<std::byte>& bytes, const char* why) const {
        const auto told = read(bytes);
        ASSERT_FALSE(told) << why;
        EXPECT_EQ(told.error().kind, base::ErrorKind::corrupt) << why;
    }
    template <typename Value>
    static void put(std::vector<std::byte>& bytes, size_t at, Value value) {
        std::memcpy(bytes.data() + at, &value, sizeof(value));
    }

    static constexpr size_t kVerdictAt = 0;
    static constexpr size_t kDivisorAt = 8;
    static constexpr size_t kTermsAt = 16;
    const partial::Roster roster_{{{1, 7}, {}, {2}}};
    const partial::Terms terms_{collectives::Layout({{DType::f32, 10}, {DType::f16, 3}}), false};
};

TEST_F(ToldRoundTest, OfASumNamesWhoGaveAndWhatItWasDividedBy) {
    const auto told = read(honest());
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(told->outcome, sum_of({{7, 0}, {2, 3}}, 4));
    EXPECT_EQ(told->terms, terms_);
}

TEST_F(ToldRoundTest, OfARoundWithoutASumHasItsVerdict) {
    for (const Verdict verdict : {Verdict::everyone, Verdict::disagree, Verdict::nothing}) {
        for (const bool has_terms : {false, true}) {
            ToldRound round;
            round.outcome.verdict = verdict;
            if (has_terms) round.terms = terms_;
            const auto told = read(write(round, roster_));
            ASSERT_TRUE(told) << told.error().message;
            EXPECT_EQ(told->outcome.verdict, verdict);
            EXPECT_TRUE(told->outcome.contributors.empty());
            EXPECT_EQ(told->terms, round.terms);
        }
    }
}

TEST_F(ToldRoundTest, IsAsLargeAsTheRosterSaysWhateverTheRoundWas) {
    const size_t bytes = told_round_bytes(roster_);
    EXPECT_EQ(bytes % collectives::kCutBytes, 0U) << "it travels as a layout does";
    EXPECT_EQ(honest().size(), bytes);
    EXPECT_EQ(write({{Verdict::nothing, {}, 1.0, {}}, {}}, roster_).size(), bytes);
    partial::Roster many = roster_;
    many.nodes.emplace_back(1000, 9);
    EXPECT_GE(told_round_bytes(many), bytes + 1000 * sizeof(uint32_t) - collectives::kCutBytes);
}

TEST_F(ToldRoundTest, ThatIsTornIsRefused) {
    std::vector<std::byte> bytes = honest();
    bytes.pop_back();
    expect_corrupt(bytes, "a byte is missing");
    bytes.resize(honest().size() + 1);
    expect_corrupt(bytes, "a byte too many");
    expect_corrupt({}, "nothing");
    put(bytes = honest(), kVerdictAt, uint64_t{4});
    expect_corrupt(bytes, "no such verdict");
    put(bytes = honest(), kVerdictAt, uint64_t{1} << 32U);
    expect_corrupt(bytes, "no such verdict, whose lowest bits are one");
    put(bytes = honest(), kTermsAt + 4, uint32_t{partial::kTermsSegmentsMax + 1});
    expect_corrupt(bytes, "more buffers than there may be");
    put(bytes = honest(), kTermsAt + 8, uint32_t{0xFFFF});
    expect_corrupt(bytes, "no such type");
    put(bytes = honest(), kTermsAt + 16, UINT64_MAX);
    expect_corrupt(bytes, "more elements than any machine has");
}

// Workers would see gradients divided by it.
TEST_F(ToldRoundTest, WithADivisorThatNoRoundHasIsRefused) {
    for (const double divisor : {0.0, 0.5, -4.0, std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()}) {
        std::vector<std::byte> bytes = honest();
        put(bytes, kDivisorAt, divisor);
        expect_corrupt(bytes, "a divisor");
    }
}

// Without terms nobody knows how large the sum is.
TEST_F(ToldRoundTest, OfASumWithoutTermsIsRefused) {
    expect_corrupt(write({sum_of({{7, 0}}, 1), {}}, roster_), "no terms");
}

TEST_F(ToldRoundTest, OfRandomBytesIsReadOrRefused) {
    base::Random random(1);
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::byte> bytes = honest();
        const size_t garbled = 1 + random.below(4);
        for (size_t k = 0; k < garbled; ++k)
            bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
        const auto told = read(bytes);
        if (!told) continue;
        EXPECT_LE(told->outcome.contributors.size(), roster_.workers());
        EXPECT_GE(told->outcome.divisor, 1.0);
        EXPECT_TRUE(std::isfinite(told->outcome.divisor));
        EXPECT_TRUE(told->terms || told->outcome.verdict != Verdict::sum);
    }
}

}  // namespace
}  // namespace pace::daemon
