// GPU block tests with clients of older releases, and with clients that follow no rules.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster/trainers/gpu_blocks_fixture.h"

namespace pace::cluster {
namespace {

TEST_F(GpuBlocks, AClientOfAnOlderReleaseGetsWholeAllocations) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const auto device = number_of_gpu();
    {
        RawClient old(cluster.socket(0));
        ASSERT_TRUE(old.join("old"));
        for (int i = 0; i < 2; ++i) {
            const auto buffer = old.create_gpu_buffer({.device = device});
            ASSERT_TRUE(buffer) << old.refusal();
            EXPECT_EQ(buffer->block, 0U);
            EXPECT_EQ(buffer->bytes, static_cast<uint64_t>(kBlock));
            EXPECT_TRUE(buffer->fd.valid());
        }
    }
    // Of a newer trainer it inherits nothing that lies in a block.
    {
        RawClient newer(cluster.socket(0));
        ASSERT_TRUE(newer.join("new"));
        const auto buffer = newer.create_gpu_buffer({.device = device, .takes_place = true});
        ASSERT_TRUE(buffer) << newer.refusal();
        EXPECT_NE(buffer->block, 0U);
    }
    RawClient successor(cluster.socket(0));
    const Deadline end = soon();
    while (!successor.join("new") && std::chrono::steady_clock::now() < end) {
    }
    const auto own = successor.create_gpu_buffer({.device = device});
    ASSERT_TRUE(own) << successor.refusal();
    EXPECT_FALSE(own->restored);
    EXPECT_EQ(own->block, 0U);
    const auto inherited = successor.create_gpu_buffer({.device = device, .takes_place = true});
    ASSERT_TRUE(inherited) << successor.refusal();
    EXPECT_TRUE(inherited->restored);
    EXPECT_TRUE(inherited->fd.valid());
}

TEST_F(GpuBlocks, TheDescriptorTravelsOnceForEachBlock) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    RawClient client(cluster.socket(0));
    ASSERT_TRUE(client.join("job"));
    const RawClient::GpuWish small{.device = number_of_gpu(), .takes_place = true};
    const auto first = client.create_gpu_buffer(small);
    const auto second = client.create_gpu_buffer(small);
    ASSERT_TRUE(first && second) << client.refusal();
    EXPECT_TRUE(first->fd.valid());
    EXPECT_FALSE(second->fd.valid());
    EXPECT_EQ(second->block, first->block);
    EXPECT_EQ(second->offset, first->offset + 256);
    EXPECT_EQ(second->bytes, static_cast<uint64_t>(kBlock)) << "of the block";
    ASSERT_TRUE(client.free_buffer(first->index, true));
    ASSERT_TRUE(client.free_buffer(second->index));
    const auto third = client.create_gpu_buffer(small);
    ASSERT_TRUE(third) << client.refusal();
    EXPECT_TRUE(third->fd.valid());
    EXPECT_NE(third->block, first->block) << "that one went with its last buffer";
}

TEST_F(GpuBlocks, PlacesThatCannotBeAreRefused) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const auto device = number_of_gpu();
    base::UniqueFd block;
    {
        RawClient before(cluster.socket(0));
        ASSERT_TRUE(before.join("before"));
        auto made = before.create_gpu_buffer({.device = device, .takes_place = true});
        ASSERT_TRUE(made) << before.refusal();
        block = std::move(made->fd);
    }
    RawClient client(cluster.socket(0));
    ASSERT_TRUE(client.join("after"));
    RawClient::GpuWish wish{.device = device, .count = 64, .adopt = block.get(), .block = 9};
    const auto refuses = [&](uint64_t bytes, uint64_t offset) {
        wish.block_bytes = bytes;
        wish.offset = offset;
        return !client.create_gpu_buffer(wish);
    };
    EXPECT_TRUE(refuses(kBlock, kBlock - 252));
    EXPECT_TRUE(refuses(kBlock, UINT64_MAX - 3));
    EXPECT_TRUE(refuses(kBlock, 2)) << "it is not aligned";
    EXPECT_TRUE(refuses(0, 0));
    EXPECT_TRUE(refuses(UINT64_MAX, 0));
    EXPECT_TRUE(refuses(2 * kBlock, kBlock)) << "the allocation has less than was said";
    EXPECT_TRUE(refuses(uint64_t{1} << 45U, 0)) << "it passes the client's limit";
    wish.block_bytes = kBlock;
    wish.offset = 512;
    ASSERT_TRUE(client.create_gpu_buffer(wish)) << client.refusal();
    // The block is known from now on.
    wish.adopt = -1;
    EXPECT_TRUE(refuses(kBlock, 512)) << "another buffer is there";
    EXPECT_TRUE(refuses(kBlock, 256 + 4));
    EXPECT_TRUE(refuses(kBlock, kBlock));
    wish.offset = 768;
    EXPECT_TRUE(client.create_gpu_buffer(wish)) << client.refusal();
    wish.block = 10;
    EXPECT_TRUE(refuses(kBlock, 0)) << "nobody knows such a block";
    wish.block = UINT64_MAX;
    EXPECT_TRUE(refuses(kBlock, 0));
    const auto own = client.create_gpu_buffer({.device = device, .takes_place = true});
    ASSERT_TRUE(own) << client.refusal();
    EXPECT_EQ(own->block, 10U);
}

// Both requests bring the descriptor, since neither side knows the block yet.
TEST_F(GpuBlocks, ABlockThatIsHandedTwiceAtOnceIsTakenOverOnce) {
    Cluster cluster({.nodes = 1, .daemon_flags = with_limit("4MiB")});
    const auto device = number_of_gpu();
    RawClient before(cluster.socket(0));
    ASSERT_TRUE(before.join("before"));
    const auto made = before.create_gpu_buffer({.device = device, .takes_place = true});
    ASSERT_TRUE(made) << before.refusal();
    RawClient client(cluster.socket(0));
    ASSERT_TRUE(client.join("after"));
    for (const uint64_t request : {10, 11})
        ASSERT_TRUE(client.ask_gpu_buffer({.request = request,
                                           .device = device,
                                           .adopt = made->fd.get(),
                                           .block = 9,
                                           .block_bytes = static_cast<uint64_t>(kBlock)}));
    const auto first = client.receive();
    ASSERT_TRUE(first) << client.refusal();
    EXPECT_FALSE(client.receive());
    EXPECT_NE(client.refusal().find("block 9 a second time"), std::string::npos)
        << client.refusal();
    ASSERT_TRUE(client.free_buffer(first->body<client::wire::BufferCreated>()->buffer()));
    expect_room_for(client, 64);
}

// What is charged for buffers under way is given back, whatever comes first.
TEST_F(GpuBlocks, RequestsThatAreNotWaitedForAreChargedOnce) {
    Cluster cluster({.nodes = 1, .daemon_flags = with_limit("4MiB")});
    RawClient client(cluster.socket(0));
    ASSERT_TRUE(client.join("job"));
    RawClient::GpuWish wish{.device = number_of_gpu(), .takes_place = true};
    // Two blocks, as neither has been made when the other is asked for.
    std::vector<uint32_t> buffers;
    for (wish.request = 10; wish.request < 12; ++wish.request)
        ASSERT_TRUE(client.ask_gpu_buffer(wish));
    for (int i = 0; i < 2; ++i) {
        const auto made = client.receive();
        ASSERT_TRUE(made) << client.refusal();
        buffers.push_back(made->body<client::wire::BufferCreated>()->buffer());
    }
    ASSERT_TRUE(client.free_buffer(buffers[1]));
    // The other block's only buffer is freed while one is being placed beside it.
    ASSERT_TRUE(client.ask_gpu_buffer(wish));
    ASSERT_TRUE(client.ask_free(buffers[0]));
    for (int i = 0; i < 2; ++i) {
        const auto packet = client.receive();
        ASSERT_TRUE(packet) << client.refusal();
        if (const auto* made = packet->body<client::wire::BufferCreated>())
            buffers[1] = made->buffer();
    }
    ASSERT_TRUE(client.free_buffer(buffers[1]));
    expect_room_for(client, 64);
}

}  // namespace
}  // namespace pace::cluster
