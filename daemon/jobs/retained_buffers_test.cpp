#include "daemon/jobs/retained_buffers.h"

#include <gtest/gtest.h>

#include "daemon/runtime/accounts.h"

namespace pace::daemon {
namespace {

constexpr base::Duration kKeepFor = std::chrono::seconds(10);
constexpr base::TimePoint kDied{std::chrono::hours(1)};
const RetainedBuffers::OfJob kJobOfOwner{.id = 4, .name = "job"};
constexpr RetainedBuffers::Key kOwner{.user = 1001, .token = 77, .rank = 3};

BufferPtr floats(uint64_t count) {
    auto buffer = std::make_shared<Buffer>();
    buffer->count = count;
    return buffer;
}

BufferPtr take(RetainedBuffers& retained, const RetainedBuffers::Key& key,
               base::TimePoint now = kDied) {
    return retained.take(key, protocol::DType::f32, 8, nullptr, now);
}

TEST(RetainedBuffers, GivesADeadWorkersBuffersToItsSuccessorInTheirOrder) {
    RetainedBuffers retained(kKeepFor);
    const BufferPtr model = floats(8);
    const BufferPtr momentum = floats(8);
    retained.keep(kOwner, kJobOfOwner, {model, momentum}, 41, kDied);
    EXPECT_EQ(retained.iteration(kOwner, kDied), 41U);
    EXPECT_EQ(take(retained, kOwner), model);
    EXPECT_EQ(take(retained, kOwner), momentum);
    EXPECT_EQ(take(retained, kOwner), nullptr);
}

TEST(RetainedBuffers, KeepsThemFromOtherUsersAndJobsAndRanks) {
    RetainedBuffers retained(kKeepFor);
    retained.keep(kOwner, kJobOfOwner, {floats(8)}, 41, kDied);
    for (const RetainedBuffers::Key& other :
         {RetainedBuffers::Key{.user = 1002, .token = 77, .rank = 3},
          RetainedBuffers::Key{.user = 1001, .token = 78, .rank = 3},
          RetainedBuffers::Key{.user = 1001, .token = 77, .rank = 4}}) {
        EXPECT_EQ(take(retained, other), nullptr);
        EXPECT_EQ(retained.iteration(other, kDied), 0U);
    }
    EXPECT_NE(take(retained, kOwner), nullptr);
}

TEST(RetainedBuffers, GivesNothingThatIsTooOld) {
    RetainedBuffers retained(kKeepFor);
    retained.keep(kOwner, kJobOfOwner, {floats(8)}, 41, kDied);
    EXPECT_EQ(take(retained, kOwner, kDied + kKeepFor), nullptr);
    EXPECT_EQ(retained.iteration(kOwner, kDied + kKeepFor), 0U);
}

TEST(RetainedBuffers, IsPaidForUntilItIsSwept) {
    const auto accounts = Accounts::create();
    RetainedBuffers retained(kKeepFor);
    {
        BufferPtr buffer = floats(8);
        auto charge = accounts->charge(kOwner.user, {.bytes = 32, .buffers = 1}, "a buffer");
        ASSERT_TRUE(charge);
        buffer->charge = std::move(*charge);
        retained.keep(kOwner, kJobOfOwner, {std::move(buffer)}, 41, kDied);
    }
    ASSERT_EQ(retained.next_expiry(), kDied + kKeepFor);
    retained.drop_expired(*retained.next_expiry() - base::Duration(1));
    EXPECT_EQ(accounts->used_by(kOwner.user).bytes, 32U);
    retained.drop_expired(*retained.next_expiry());
    EXPECT_EQ(accounts->used_by(kOwner.user).bytes, 0U);
    EXPECT_FALSE(retained.next_expiry());
}

TEST(RetainedBuffers, GivesUpTheOldestOfOneUserOrOfAll) {
    RetainedBuffers retained(kKeepFor);
    const RetainedBuffers::Key later{.user = 1001, .token = 80, .rank = 0};
    const RetainedBuffers::Key another{.user = 1002, .token = 81, .rank = 0};
    retained.keep(another, kJobOfOwner, {floats(8)}, 0, kDied - std::chrono::seconds(1));
    retained.keep(later, kJobOfOwner, {floats(8)}, 0, kDied + std::chrono::seconds(1));
    retained.keep(kOwner, kJobOfOwner, {floats(8)}, 0, kDied);
    EXPECT_TRUE(retained.drop_oldest(kOwner.user));
    EXPECT_EQ(take(retained, kOwner), nullptr);
    EXPECT_TRUE(retained.drop_oldest(std::nullopt));
    EXPECT_EQ(take(retained, another), nullptr);
    EXPECT_NE(take(retained, later), nullptr);
    EXPECT_FALSE(retained.drop_oldest(std::nullopt));
}

TEST(RetainedBuffers, KeepsNothingWhereNothingIsToBeKept) {
    RetainedBuffers retained(base::Duration::zero());
    retained.keep(kOwner, kJobOfOwner, {floats(8)}, 41, kDied);
    EXPECT_EQ(take(retained, kOwner), nullptr);
}

}  // namespace
}  // namespace pace::daemon
