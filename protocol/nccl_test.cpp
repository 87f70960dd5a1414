#include "protocol/nccl.h"

#include <gtest/gtest.h>

namespace pace::protocol {
namespace {

TEST(Nccl, ItsNumberIsReadAsItsOwnHeadersWriteIt) {
    EXPECT_EQ(nccl_text(22105), "2.21.5");
    EXPECT_EQ(nccl_text(22809), "2.28.9");
    EXPECT_EQ(nccl_text(20903), "2.9.3");
    EXPECT_EQ(nccl_text(2804), "2.8.4");
    EXPECT_EQ(nccl_text(kNcclMax), "99.99.99");
    EXPECT_EQ(nccl_text(0), "");
}

}  // namespace
}  // namespace pace::protocol
