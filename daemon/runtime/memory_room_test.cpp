#include "daemon/runtime/memory_room.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

TEST(MemoryRoom, IsReadFromTheKernelsTables) {
    const std::string meminfo =
        "MemTotal:  24000000 kB\nMemAvailable:   100 kB\nHugePages_Total: 7\n";
    EXPECT_EQ(bytes_after(meminfo, "MemAvailable:", 0), 102400U);
    EXPECT_EQ(bytes_after(meminfo, "HugePages_Total:", 0), 7U);
    EXPECT_EQ(bytes_after(meminfo, "Absent:", 5), 5U);
    EXPECT_EQ(bytes_after("anon 4096\ninactive_file 8192\n", "inactive_file", 0), 8192U);
    EXPECT_GT(memory_room(), 0U);
    EXPECT_LT(memory_room(), kUnknownRoom) << "this kernel tells";
    EXPECT_GE(memory_total(), memory_room());
    EXPECT_LT(memory_total(), kUnknownRoom);
}

TEST(MemoryRoom, RefusesWhatWouldTakeItAll) {
    constexpr uint64_t kRoom = uint64_t{8} << 30U;
    EXPECT_TRUE(check_memory_room("a buffer", kRoom / 2, kRoom));
    EXPECT_TRUE(check_memory_room("a buffer", kRoom, kUnknownRoom));
    const auto refused = check_memory_room("a buffer", kRoom, kRoom);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::memory);
    EXPECT_NE(refused.error().message.find("8589934592"), std::string::npos);
    EXPECT_FALSE(check_memory_room("a buffer", 1, 0));
}

}  // namespace
}  // namespace pace::daemon
