#include "daemon/runtime/accounts.h"

#include <optional>

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

constexpr AccountLimits kLimits{
    .user_bytes_max = 100, .user_buffers_max = 2, .user_clients_max = 2, .memory_max = 150};

void expect_names(const base::Result<Charge>& charge, const char* setting) {
    ASSERT_FALSE(charge);
    EXPECT_EQ(charge.error().kind, base::ErrorKind::limit);
    EXPECT_NE(charge.error().message.find(setting), std::string::npos) << charge.error().message;
}

TEST(Accounts, HoldOneUserToItsLimitWhoeverOfItsTrainersAsks) {
    const auto accounts = Accounts::create(kLimits);
    const auto first = accounts->charge(7, {.bytes = 60}, "a buffer");
    ASSERT_TRUE(first);
    expect_names(accounts->charge(7, {.bytes = 41}, "a buffer"), "user_bytes_max");
    EXPECT_TRUE(accounts->charge(7, {.bytes = 40}, "a buffer"));
    EXPECT_TRUE(accounts->charge(8, {.bytes = 90}, "a buffer")) << "another user";
}

TEST(Accounts, HoldAllUsersTogether) {
    const auto accounts = Accounts::create(kLimits);
    const auto first = accounts->charge(7, {.bytes = 100}, "a buffer");
    const auto second = accounts->charge(8, {.bytes = 50}, "a buffer");
    ASSERT_TRUE(second);
    expect_names(accounts->charge(9, {.bytes = 1}, "a buffer"), "memory_max");
}

TEST(Accounts, BoundBuffersAndConnections) {
    const auto accounts = Accounts::create(kLimits);
    const auto both = accounts->charge(7, {.buffers = 2, .clients = 2}, "two");
    ASSERT_TRUE(both);
    expect_names(accounts->charge(7, {.buffers = 1}, "a buffer"), "user_buffers_max");
    expect_names(accounts->charge(7, {.clients = 1}, "a connection"), "user_clients_max");
}

TEST(Accounts, KeepDescriptorsForOthersThanClients) {
    const auto accounts = Accounts::create(kLimits);
    accounts->set_descriptors_max(5);
    const auto first = accounts->charge(7, {.clients = 1, .descriptors = 4}, "a connection");
    ASSERT_TRUE(first);
    expect_names(accounts->charge(8, {.buffers = 1, .descriptors = 2}, "a buffer"), "LimitNOFILE");
    EXPECT_TRUE(accounts->charge(8, {.buffers = 1, .descriptors = 1}, "a buffer"));
}

TEST(Accounts, AreNotFooledByNumbersThatOverflow) {
    const auto accounts = Accounts::create(kLimits);
    const auto first = accounts->charge(7, {.bytes = 60}, "a buffer");
    expect_names(accounts->charge(7, {.bytes = ~uint64_t{0}}, "a buffer"), "user_bytes_max");
    expect_names(accounts->charge(7, {.bytes = ~uint64_t{0} - 59}, "a buffer"), "user_bytes_max");
}

TEST(Accounts, AreChargedForAsLongAsTheChargeLives) {
    const auto accounts = Accounts::create(kLimits);
    std::optional<Charge> kept;
    {
        auto charge = accounts->charge(7, {.bytes = 60, .buffers = 1}, "a buffer");
        ASSERT_TRUE(charge);
        kept.emplace(std::move(*charge));
    }
    EXPECT_EQ(accounts->used_by(7).bytes, 60U) << "moved, not ended";
    EXPECT_EQ(accounts->used_by(7).buffers, 1U);
    kept.emplace();
    EXPECT_EQ(accounts->used_by(7).bytes, 0U);
    EXPECT_EQ(accounts->bytes_used(), 0U);
}

TEST(Accounts, CountWhatMustBeThereAndRefuseWhatComesNext) {
    const auto accounts = Accounts::create(kLimits);
    const Charge must = accounts->count(7, 200);
    EXPECT_EQ(accounts->bytes_used(), 200U);
    expect_names(accounts->charge(7, {.bytes = 1}, "a buffer"), "user_bytes_max");
    expect_names(accounts->charge(8, {.bytes = 1}, "a buffer"), "memory_max");
}

TEST(Accounts, SayWhatIsNeverPossible) {
    const auto accounts = Accounts::create(kLimits);
    const Charge used = accounts->count(7, 99);
    EXPECT_TRUE(accounts->check_possible(100, "a model"));
    const auto refused = accounts->check_possible(101, "a model");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("user_bytes_max"), std::string::npos);
}

TEST(Accounts, ARefusalChargesNothing) {
    const auto accounts = Accounts::create(kLimits);
    expect_names(accounts->charge(7, {.bytes = 10, .buffers = 3}, "three"), "user_buffers_max");
    EXPECT_EQ(accounts->bytes_used(), 0U);
}

}  // namespace
}  // namespace pace::daemon
