// Infinities and NaNs in gradients: the first one is found, wherever it is and however many threads
// look.
#include "daemon/families/vetting/nonfinite.h"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"
#include "base/random.h"

namespace pace::daemon {
namespace {

using protocol::DType;

class NonfiniteTest : public testing::Test {
  protected:
    static BufferPtr zeros(uint64_t count, DType dtype) {
        auto buffer = std::make_shared<Buffer>();
        buffer->memory =
            base::MappedMemfd::create("test", count * protocol::size_of(dtype) + 1, false).value();
        buffer->dtype = dtype;
        buffer->count = count;
        return buffer;
    }
    template <typename Bits>
    static void set(const BufferPtr& buffer, size_t element, Bits bits) {
        std::memcpy(buffer->memory.data() + element * sizeof(Bits), &bits, sizeof(Bits));
    }
    // Looks in the loop's own thread.
    std::optional<Place> find(const std::vector<BufferPtr>& buffers,
                              std::optional<DType> half = std::nullopt) {
        return find_by(kernels::Aside(pool_, {}, 0), buffers, half);
    }
    std::optional<Place> find_by(const kernels::Aside& aside, const std::vector<BufferPtr>& buffers,
                                 std::optional<DType> half = std::nullopt) {
        int told = 0;
        std::optional<Place> place;
        find_nonfinite(aside, buffers, half, [&](std::optional<Place> found) {
            ++told;
            place = found;
        });
        while (told == 0) loop_->turn(true);
        EXPECT_EQ(told, 1);
        return place;
    }
    static void expect_at(const std::optional<Place>& place, size_t buffer, size_t element) {
        ASSERT_TRUE(place);
        EXPECT_EQ(place->buffer, buffer);
        EXPECT_EQ(place->element, element);
    }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    kernels::WorkerPool pool_{3};
};

TEST_F(NonfiniteTest, NothingIsInNothing) {
    EXPECT_FALSE(find({}));
    EXPECT_FALSE(find({zeros(0, DType::f32)}));
    EXPECT_FALSE(find({zeros(0, DType::f32), zeros(3, DType::f64), zeros(0, DType::f16)}));
}

TEST_F(NonfiniteTest, BuffersWithoutElementsCountAsPlaces) {
    const BufferPtr last = zeros(2, DType::f32);
    set(last, 1, uint32_t{0x7F800000});
    expect_at(find({zeros(0, DType::f32), zeros(5, DType::f16), zeros(0, DType::f64), last}), 3, 1);
}

struct Pattern {
    DType dtype;
    uint64_t bits;
    bool is_finite;
};

TEST_F(NonfiniteTest, EachTypeHasItsOwnLimit) {
    const Pattern table[] = {
        {DType::f32, 0x7F7FFFFF, true},
        {DType::f32, 0xFF7FFFFF, true},
        {DType::f32, 0x80000000, true},
        {DType::f32, 0x7F800000, false},
        {DType::f32, 0xFF800000, false},
        {DType::f32, 0x7F800001, false},
        {DType::f32, 0xFFFFFFFF, false},
        {DType::f16, 0x7BFF, true},
        {DType::f16, 0xFBFF, true},
        {DType::f16, 0x7C00, false},
        {DType::f16, 0xFC01, false},
        {DType::bf16, 0x7F7F, true},
        {DType::bf16, 0xFF80, false},
        {DType::bf16, 0x7FC0, false},
        {DType::f64, 0x7FEFFFFFFFFFFFFF, true},
        {DType::f64, 0x7FF0000000000000, false},
        {DType::f64, 0xFFF0000000000001, false},
        {DType::f64, 0x8000000000000000, true},
        {DType::u32, 0x7F800000, true},
        {DType::u32, 0xFFFFFFFF, true},
    };
    for (const Pattern& row : table) {
        const BufferPtr buffer = zeros(5, row.dtype);
        std::memcpy(buffer->memory.data() + 3 * protocol::size_of(row.dtype), &row.bits,
                    protocol::size_of(row.dtype));
        const auto place = find({buffer});
        EXPECT_EQ(!place, row.is_finite) << protocol::name_of(row.dtype) << " " << row.bits;
        if (place) expect_at(place, 0, 3);
    }
}

// An element of a job's own halves travels as it is.
TEST_F(NonfiniteTest, ElementsThatAreHalvesAlreadyAreNotRoundedAgain) {
    const BufferPtr halves = zeros(2, DType::bf16);
    set(halves, 1, uint16_t{0x7F7F});
    EXPECT_FALSE(find({halves}, DType::f16));
    const BufferPtr singles = zeros(2, DType::f32);
    set(singles, 1, uint32_t{0x477FF000});  // 65520
    EXPECT_FALSE(find({singles}));
    EXPECT_FALSE(find({singles}, DType::bf16));
    expect_at(find({singles}, DType::f16), 0, 1);
}

TEST_F(NonfiniteTest, TheFirstIsFoundHoweverManyThereAre) {
    constexpr uint64_t kMuch = 300'000;  // several pieces
    base::Random random(3);
    const kernels::Aside aside(pool_, loop_->poster(), 0);
    const std::vector<BufferPtr> buffers = {zeros(kMuch, DType::f32), zeros(kMuch / 2, DType::f64)};
    EXPECT_FALSE(find_by(aside, buffers));
    size_t first = kMuch * 3 / 2;
    while (first > 0) {
        first = random.below(first);
        if (first < kMuch)
            set(buffers[0], first, uint32_t{0x7FC00000});
        else
            set(buffers[1], first - kMuch, uint64_t{0x7FF8000000000000});
        expect_at(find_by(aside, buffers), first < kMuch ? 0 : 1, first % kMuch);
    }
}

}  // namespace
}  // namespace pace::daemon
