#include "base/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

TEST(MappedMemfd, IsSharedBetweenItsMappings) {
    auto first = MappedMemfd::create("pace-test", 100, true);
    ASSERT_TRUE(first);
    auto second = MappedMemfd::adopt(UniqueFd(dup(first->fd())), 100);
    ASSERT_TRUE(second);
    first->data()[7] = std::byte{42};
    EXPECT_EQ(second->data()[7], std::byte{42});
    EXPECT_GE(first->size(), 100U);
}

TEST(MappedMemfd, CannotBeResizedByWhoeverHoldsTheDescriptor) {
    auto memory = MappedMemfd::create("pace-test", 4096, true);
    ASSERT_TRUE(memory);
    EXPECT_NE(ftruncate(memory->fd(), 0), 0);
    EXPECT_NE(ftruncate(memory->fd(), 8192), 0);
}

TEST(MappedMemfd, RefusesUnsealedOrShorterMemory) {
    UniqueFd unsealed(memfd_create("pace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
    EXPECT_EQ(MappedMemfd::adopt(std::move(unsealed), 4096).error().kind, ErrorKind::invalid);
    auto memory = MappedMemfd::create("pace-test", 4096, false);
    ASSERT_TRUE(memory);
    EXPECT_FALSE(MappedMemfd::adopt(UniqueFd(dup(memory->fd())), 4097));
}

}  // namespace
}  // namespace pace::base
