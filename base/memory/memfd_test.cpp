#include "base/memory/memfd.h"

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

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Returns another process's memory of `bytes` bytes, with the right seals.
UniqueFd sealed(size_t bytes, unsigned flags = 0) {
    UniqueFd fd(memfd_create("pace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, kSeals), 0);
    return fd;
}

void expect_refused(UniqueFd fd, size_t bytes, const char* word) {
    const auto adopted = MappedMemfd::adopt(std::move(fd), bytes);
    ASSERT_FALSE(adopted);
    EXPECT_EQ(adopted.error().kind, ErrorKind::invalid);
    EXPECT_NE(adopted.error().message.find(word), std::string::npos) << adopted.error().message;
}

TEST(MappedMemfd, RefusesUnsealedMemory) {
    UniqueFd unsealed(memfd_create("pace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
    expect_refused(std::move(unsealed), 4096, "sealed");
}

TEST(MappedMemfd, MapsWhatWasAnnouncedAndRefusesAnyOtherSize) {
    EXPECT_TRUE(MappedMemfd::adopt(sealed(8192), 4097));
    expect_refused(sealed(4096), 4097, "4097");
    expect_refused(sealed(8192), 4096, "8192");
    expect_refused(sealed(size_t{1} << 46U), 4, "announced");
}

// The pool may be empty here. The descriptor alone is enough to refuse it.
TEST(MappedMemfd, RefusesHugePagesWhichWhoeverHoldsThemCanTakeAway) {
    const size_t bytes = size_t{2} << 20U;
    UniqueFd huge(memfd_create("pace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
    if (!huge.valid()) GTEST_SKIP() << "this kernel has no huge pages of its own";
    expect_refused(sealed(bytes, MFD_HUGETLB), bytes, "tmpfs");
}

}  // namespace
}  // namespace pace::base
