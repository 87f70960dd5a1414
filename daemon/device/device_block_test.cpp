// DeviceBlock tests: with the simulated driver.
#include "daemon/device/device_block.h"

#include <vector>

#include <gtest/gtest.h>

#include "daemon/device/devices_fixture.h"

namespace pace::device {
namespace {

class DeviceBlockTest : public SimulatedDevices {
  protected:
    void SetUp() override {
        SimulatedDevices::SetUp();
        device_ = &first();
        auto block = DeviceBlock::create(*device_);
        ASSERT_TRUE(block) << block.error().message;
        block_ = std::move(*block);
    }
    void TearDown() override { block_.reset(); }

    // The bytes at these addresses, by a stream of their own.
    std::vector<char> read(const DeviceMemory& memory) {
        std::vector<char> bytes(memory.size(), '?');
        with_stream([&](base::cuda::CUstream stream) {
            return device_->driver().copy_to_host(bytes.data(), memory.address(), bytes.size(),
                                                  stream);
        });
        return bytes;
    }
    void fill(const DeviceMemory& memory, char with) {
        with_stream([&](base::cuda::CUstream stream) {
            return device_->driver().set_bytes(memory.address(), static_cast<unsigned char>(with),
                                               memory.size(), stream);
        });
    }

    Device* device_ = nullptr;
    std::shared_ptr<DeviceBlock> block_;

  private:
    template <typename Queue>
    void with_stream(Queue queue) {
        const auto stream = device_->create_stream();
        ASSERT_TRUE(stream);
        {
            const auto scope = device_->enter();
            ASSERT_EQ(queue(*stream), base::cuda::kSuccess);
            ASSERT_EQ(device_->driver().stream_synchronize(*stream), base::cuda::kSuccess);
        }
        device_->destroy_stream(*stream);
    }
};

TEST_F(DeviceBlockTest, HasRoomForManyAndTakesNoMemoryForThem) {
    const uint64_t free = *device_->free_bytes();
    std::vector<DeviceMemory> all;
    while (auto memory = DeviceBlock::place(block_, size_t{64} << 10U)) {
        EXPECT_EQ(memory->offset(), all.size() * (size_t{64} << 10U));
        EXPECT_EQ(memory->address(), block_->memory().address() + memory->offset());
        EXPECT_EQ(memory->fd(), -1);
        EXPECT_FALSE(memory->is_lent());
        all.push_back(std::move(*memory));
    }
    EXPECT_EQ(all.size(), 32U);
    EXPECT_EQ(*device_->free_bytes(), free);
}

TEST_F(DeviceBlockTest, GoesWithTheLastMemoryInIt) {
    const uint64_t free = *device_->free_bytes();
    auto first = DeviceBlock::place(block_, 1000);
    auto second = DeviceBlock::place(block_, 1000);
    ASSERT_TRUE(first && second);
    block_.reset();
    first.reset();
    EXPECT_EQ(*device_->free_bytes(), free);
    second.reset();
    EXPECT_EQ(*device_->free_bytes(), free + kAllocationStep);
}

TEST_F(DeviceBlockTest, APlaceIsFreeOnceItsMemoryHasLeft) {
    auto first = DeviceBlock::place(block_, kAllocationStep / 2);
    auto second = DeviceBlock::place(block_, kAllocationStep / 2);
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(DeviceBlock::place(block_, 1));
    first->leave_place();
    auto third = DeviceBlock::place(block_, kAllocationStep / 2);
    ASSERT_TRUE(third);
    EXPECT_EQ(third->offset(), 0U);
    first.reset();  // what it has left is not left once more
    EXPECT_FALSE(DeviceBlock::place(block_, 1));
    third = std::nullopt;
    EXPECT_TRUE(DeviceBlock::place(block_, 1));
}

TEST_F(DeviceBlockTest, APlaceThatIsKeptIsNeverUsedAgain) {
    auto kept = DeviceBlock::place(block_, 512);
    ASSERT_TRUE(kept);
    kept->keep_place();
    kept.reset();
    const auto next = DeviceBlock::place(block_, 512);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->offset(), 512U);
}

TEST_F(DeviceBlockTest, AUsedPlaceIsClearedAndItsNeighboursAreNot) {
    auto before = DeviceBlock::place(block_, 512);
    auto used = DeviceBlock::place(block_, 512);
    auto behind = DeviceBlock::place(block_, 512);
    ASSERT_TRUE(before && used && behind);
    for (const auto* memory : {&*before, &*used, &*behind}) fill(*memory, 'x');
    used.reset();
    auto next = DeviceBlock::place(block_, 500);
    ASSERT_TRUE(next);
    ASSERT_EQ(next->offset(), 512U);
    ASSERT_TRUE(next->clear());
    EXPECT_EQ(read(*next), std::vector<char>(500, 0));
    EXPECT_EQ(read(*before), std::vector<char>(512, 'x'));
    EXPECT_EQ(read(*behind), std::vector<char>(512, 'x'));
}

TEST_F(DeviceBlockTest, IsAdoptedWithWhatLiesInIt) {
    auto memory = DeviceBlock::place(block_, 512);
    ASSERT_TRUE(memory);
    fill(*memory, 'x');
    const auto adopted =
        DeviceBlock::adopt(*device_, base::UniqueFd(dup(block_->memory().fd())), kAllocationStep);
    ASSERT_TRUE(adopted) << adopted.error().message;
    const auto same = DeviceBlock::place_at(*adopted, memory->offset(), 512);
    ASSERT_TRUE(same);
    EXPECT_EQ(read(*same), std::vector<char>(512, 'x'));
    EXPECT_FALSE(DeviceBlock::place_at(*adopted, 256, 512)) << "it meets the other";
    EXPECT_FALSE(DeviceBlock::place_at(*adopted, kAllocationStep - 256, 512)) << "it is outside";
    EXPECT_FALSE(DeviceBlock::adopt(*device_, base::UniqueFd(dup(block_->memory().fd())),
                                    2 * kAllocationStep))
        << "the allocation is shorter";
}

}  // namespace
}  // namespace pace::device
