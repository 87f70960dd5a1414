// SessionBlocks tests: with the simulated driver, what a session's answers name, when a block is
// new to the session's quota, and where buffers are placed.
#include "daemon/clients/session_blocks.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/clients/buffer_request.h"
#include "daemon/device/devices_fixture.h"

namespace pace::daemon {
namespace {

constexpr size_t kBlock = device::kAllocationStep;

class SessionBlocksTest : public device::SimulatedDevices {
  protected:
    void SetUp() override {
        SimulatedDevices::SetUp();
        device_ = &first();
    }

    // A first buffer in a block of its own.
    BufferPtr in_new_block(size_t bytes) {
        NewMemory memory;
        memory.wanted.count = bytes / sizeof(float);
        memory.wanted.takes_place = true;
        memory.device = device_;
        auto charge = accounts_->charge(7, {.bytes = kBlock, .descriptors = 1}, "a block");
        EXPECT_TRUE(charge);
        memory.block_paid = std::make_shared<const Charge>(std::move(*charge));
        while (make_piece(memory)) {
        }
        finish_memory(memory);
        EXPECT_TRUE(memory.buffer) << memory.buffer.error().message;
        return *memory.buffer;
    }
    BufferPtr made(SessionBlocks& blocks, size_t bytes) {
        BufferPtr buffer = in_new_block(bytes);
        blocks.add_made(*buffer, kBlock);
        return buffer;
    }
    uint64_t charged() { return accounts_->used_by(7).bytes; }

    std::shared_ptr<Accounts> accounts_ = Accounts::create();
    device::Device* device_ = nullptr;
};

TEST_F(SessionBlocksTest, TheFirstAnswerAloneHasTheDescriptor) {
    SessionBlocks blocks;
    const BufferPtr first = made(blocks, 1024);
    const BufferPtr second = blocks.place(*device_, 1024);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->block(), first->block());
    const auto named = blocks.name(*first);
    EXPECT_EQ(named.number, 1U);
    EXPECT_EQ(named.offset, 0U);
    EXPECT_EQ(named.block_bytes, kBlock);
    EXPECT_EQ(named.fd, first->block()->memory().fd());
    const auto again = blocks.name(*second);
    EXPECT_EQ(again.number, 1U);
    EXPECT_EQ(again.offset, 1024U);
    EXPECT_EQ(again.fd, -1);
    EXPECT_EQ(blocks.name(Buffer()).number, 0U);
}

TEST_F(SessionBlocksTest, ABlockIsForgottenWithTheSessionsLastBufferThere) {
    SessionBlocks blocks;
    const BufferPtr first = made(blocks, 1024);
    const BufferPtr second = blocks.place(*device_, 1024);
    EXPECT_EQ(blocks.remove(*first), 0U);
    EXPECT_TRUE(blocks.knows(1));
    EXPECT_EQ(blocks.remove(*second), kBlock);
    EXPECT_FALSE(blocks.knows(1));
    EXPECT_EQ(blocks.place(*device_, 1024), nullptr);
    const BufferPtr third = made(blocks, 1024);
    EXPECT_EQ(blocks.name(*third).number, 2U) << "a number names one block";
}

TEST_F(SessionBlocksTest, ABlockIsPaidForAsLongAsABufferIsInIt) {
    SessionBlocks blocks;
    BufferPtr first = made(blocks, 1024);
    BufferPtr second = blocks.place(*device_, 1024);
    blocks.remove(*first);
    first.reset();
    EXPECT_EQ(charged(), kBlock);
    blocks.remove(*second);
    EXPECT_EQ(charged(), kBlock) << "an exchange may still hold the buffer";
    second.reset();
    EXPECT_EQ(charged(), 0U);
}

// Without the thread that gives memory back having done anything.
TEST_F(SessionBlocksTest, APlaceIsFreeAsSoonAsNobodyHoldsItsBuffer) {
    SessionBlocks blocks;
    const BufferPtr first = made(blocks, kBlock / 2);
    BufferPtr second = blocks.place(*device_, kBlock / 2);
    ASSERT_TRUE(second);
    blocks.remove(*second);
    EXPECT_EQ(blocks.place(*device_, 4), nullptr) << "an exchange may still hold the buffer";
    second.reset();
    const BufferPtr third = blocks.place(*device_, kBlock / 2);
    ASSERT_TRUE(third);
    EXPECT_EQ(third->on_device->memory.offset(), kBlock / 2);
}

TEST_F(SessionBlocksTest, NothingIsPlacedInTheBlockOfADeadTrainer) {
    SessionBlocks dead;
    const BufferPtr inherited = made(dead, 1024);
    const BufferPtr other = dead.place(*device_, 1024);
    SessionBlocks blocks;
    blocks.add_inherited(*inherited, kBlock);
    EXPECT_TRUE(blocks.has_block_of(*other));
    EXPECT_EQ(blocks.place(*device_, 1024), nullptr);
    EXPECT_GE(blocks.name(*inherited).fd, 0);
    blocks.add_inherited(*other, 0);
    EXPECT_EQ(blocks.name(*other).fd, -1);
    EXPECT_EQ(blocks.remove(*inherited), 0U);
    EXPECT_EQ(blocks.remove(*other), kBlock);
}

TEST_F(SessionBlocksTest, AnAdoptedBlockKeepsItsNumberAndItsPlaces) {
    SessionBlocks blocks;
    const BufferPtr first = in_new_block(1024);
    blocks.add_adopted(*first, kBlock, 40);
    EXPECT_EQ(blocks.name(*first).fd, -1) << "the client has it";
    EXPECT_EQ(blocks.place(*device_, 64), nullptr);
    const BufferPtr second = blocks.place_at(40, *device_, 4096, 1024);
    ASSERT_TRUE(second);
    EXPECT_EQ(blocks.name(*second).number, 40U);
    EXPECT_EQ(blocks.name(*second).offset, 4096U);
    EXPECT_EQ(blocks.place_at(40, *device_, 4096 + 1023, 1024), nullptr) << "it meets another";
    EXPECT_EQ(blocks.place_at(40, *device_, kBlock - 4, 8), nullptr) << "it is outside";
    EXPECT_EQ(blocks.place_at(40, *device_, UINT64_MAX - 3, 8), nullptr);
    const BufferPtr third = made(blocks, 1024);
    EXPECT_EQ(blocks.name(*third).number, 41U);
}

// ------------------------------------------------------------------------------ what clients say

struct Said {
    uint64_t count = 1;
    bool adopt = true;
    bool on_device = true;
    bool has_handle = false;
    uint64_t offset = 0;
    uint64_t block = 1;
    uint64_t block_bytes = kBlock;
};

base::Result<BufferRequest> checked(const Said& said) {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<uint8_t> device(said.on_device ? sizeof(base::cuda::CUuuid) : 0);
    const std::vector<uint8_t> handle(said.has_handle ? sizeof(base::cuda::CUipcMemHandle) : 0);
    builder.Finish(protocol::client::CreateBufferCreateDirect(
        builder, 1, protocol::client::DType::f32, said.count, said.adopt,
        said.on_device ? &device : nullptr, said.has_handle ? &handle : nullptr, said.offset, false,
        false, false, said.block, said.block_bytes));
    return check_buffer(
        *flatbuffers::GetRoot<protocol::client::BufferCreate>(builder.GetBufferPointer()));
}

TEST(BufferRequest, NamesABlockOnlyForMemoryThatIsAdoptedFromADescriptor) {
    EXPECT_TRUE(checked({}));
    EXPECT_EQ(checked({.adopt = false}).error().kind, base::ErrorKind::invalid);
    EXPECT_EQ(checked({.on_device = false}).error().kind, base::ErrorKind::invalid);
    EXPECT_EQ(checked({.has_handle = true}).error().kind, base::ErrorKind::invalid);
}

TEST(BufferRequest, OfABlockThatCannotBeIsRefused) {
    EXPECT_FALSE(checked({.block = UINT64_MAX}));
    EXPECT_FALSE(checked({.block_bytes = 0}));
    EXPECT_FALSE(checked({.block_bytes = UINT64_MAX}));
    EXPECT_FALSE(checked({.offset = 2})) << "it is not aligned for floats";
}

}  // namespace
}  // namespace pace::daemon
