#include "daemon/jobs/orphanage.h"

#include <gtest/gtest.h>

#include "daemon/runtime/accounts.h"

namespace pace::daemon {
namespace {

constexpr base::Duration kKeepFor = std::chrono::seconds(10);
constexpr base::TimePoint kDied{std::chrono::hours(1)};
const Orphanage::OfJob kJobOfOwner{.id = 4, .name = "job"};
constexpr Orphanage::Key kOwner{.user = 1001, .token = 77, .rank = 3};

BufferPtr floats(uint64_t count) {
    auto buffer = std::make_shared<Buffer>();
    buffer->count = count;
    return buffer;
}

BufferPtr take(Orphanage& orphanage, const Orphanage::Key& key, base::TimePoint now = kDied) {
    return orphanage.take(key, protocol::DType::f32, 8, nullptr, now);
}

TEST(Orphanage, GivesADeadWorkersBuffersToItsSuccessorInTheirOrder) {
    Orphanage orphanage(kKeepFor);
    const BufferPtr model = floats(8);
    const BufferPtr momentum = floats(8);
    orphanage.keep(kOwner, kJobOfOwner, {model, momentum}, 41, kDied);
    EXPECT_EQ(orphanage.iteration(kOwner, kDied), 41U);
    EXPECT_EQ(take(orphanage, kOwner), model);
    EXPECT_EQ(take(orphanage, kOwner), momentum);
    EXPECT_EQ(take(orphanage, kOwner), nullptr);
}

TEST(Orphanage, KeepsThemFromOtherUsersAndJobsAndRanks) {
    Orphanage orphanage(kKeepFor);
    orphanage.keep(kOwner, kJobOfOwner, {floats(8)}, 41, kDied);
    for (const Orphanage::Key& other : {Orphanage::Key{.user = 1002, .token = 77, .rank = 3},
                                        Orphanage::Key{.user = 1001, .token = 78, .rank = 3},
                                        Orphanage::Key{.user = 1001, .token = 77, .rank = 4}}) {
        EXPECT_EQ(take(orphanage, other), nullptr);
        EXPECT_EQ(orphanage.iteration(other, kDied), 0U);
    }
    EXPECT_NE(take(orphanage, kOwner), nullptr);
}

TEST(Orphanage, GivesNothingThatIsTooOld) {
    Orphanage orphanage(kKeepFor);
    orphanage.keep(kOwner, kJobOfOwner, {floats(8)}, 41, kDied);
    EXPECT_EQ(take(orphanage, kOwner, kDied + kKeepFor), nullptr);
    EXPECT_EQ(orphanage.iteration(kOwner, kDied + kKeepFor), 0U);
}

TEST(Orphanage, IsPaidForUntilItIsSwept) {
    const auto accounts = Accounts::create();
    Orphanage orphanage(kKeepFor);
    {
        BufferPtr buffer = floats(8);
        auto charge = accounts->charge(kOwner.user, {.bytes = 32, .buffers = 1}, "a buffer");
        ASSERT_TRUE(charge);
        buffer->charge = std::move(*charge);
        orphanage.keep(kOwner, kJobOfOwner, {std::move(buffer)}, 41, kDied);
    }
    ASSERT_EQ(orphanage.next_expiry(), kDied + kKeepFor);
    orphanage.drop_expired(*orphanage.next_expiry() - base::Duration(1));
    EXPECT_EQ(accounts->used_by(kOwner.user).bytes, 32U);
    orphanage.drop_expired(*orphanage.next_expiry());
    EXPECT_EQ(accounts->used_by(kOwner.user).bytes, 0U);
    EXPECT_FALSE(orphanage.next_expiry());
}

TEST(Orphanage, GivesUpTheOldestOfOneUserOrOfAll) {
    Orphanage orphanage(kKeepFor);
    const Orphanage::Key later{.user = 1001, .token = 80, .rank = 0};
    const Orphanage::Key another{.user = 1002, .token = 81, .rank = 0};
    orphanage.keep(another, kJobOfOwner, {floats(8)}, 0, kDied - std::chrono::seconds(1));
    orphanage.keep(later, kJobOfOwner, {floats(8)}, 0, kDied + std::chrono::seconds(1));
    orphanage.keep(kOwner, kJobOfOwner, {floats(8)}, 0, kDied);
    EXPECT_TRUE(orphanage.drop_oldest(kOwner.user));
    EXPECT_EQ(take(orphanage, kOwner), nullptr);
    EXPECT_TRUE(orphanage.drop_oldest(std::nullopt));
    EXPECT_EQ(take(orphanage, another), nullptr);
    EXPECT_NE(take(orphanage, later), nullptr);
    EXPECT_FALSE(orphanage.drop_oldest(std::nullopt));
}

TEST(Orphanage, KeepsNothingWhereNothingIsToBeKept) {
    Orphanage orphanage(base::Duration::zero());
    orphanage.keep(kOwner, kJobOfOwner, {floats(8)}, 41, kDied);
    EXPECT_EQ(take(orphanage, kOwner), nullptr);
}

}  // namespace
}  // namespace pace::daemon
