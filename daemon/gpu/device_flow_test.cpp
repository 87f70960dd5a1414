// Copies that travel with a sum, on the simulated GPU: what has arrived, what is given back, and
// what is left when the sum fails.
#include "daemon/gpu/device_flow.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "daemon/gpu/gpu_fixture.h"

namespace pace::daemon {
namespace {

using base::Result;
using collectives::ByteRange;

class DeviceFlowTest : public OnSimulatedGpu {
  protected:
    std::shared_ptr<DeviceFlow> flow(const std::vector<DeviceMember>& members) {
        auto memory = device::DeviceMemory::create(*device_, layout_.bytes());
        EXPECT_TRUE(memory);
        const DeviceFlow::Place place{members.front().contents->lane,
                                      std::make_shared<device::DeviceMemory>(std::move(*memory))};
        return std::make_shared<DeviceFlow>(members, std::vector{place}, layout_, scratch_.data(),
                                            [this](const base::Error&) { ++failures_; });
    }
    Result<> settle(DeviceFlow& flow, const Result<>& sum) {
        std::optional<Result<>> ended;
        base::spawn<Result<>>(flow.settle(sum), [&](const Result<>& result) { ended = result; });
        turn_until([&] { return ended.has_value(); });
        return *ended;
    }
    ByteRange all() const { return {0, layout_.bytes()}; }

    int failures_ = 0;
};

TEST_F(DeviceFlowTest, ThePartArrivesInTheTwinsAndTheResultOnTheGpu) {
    const std::vector<DeviceMember> members{member(0), member(100)};
    const auto flow = this->flow(members);
    EXPECT_FALSE(flow->arrived({0, 64}));
    flow->begin(3, 65536);
    turn_until([&] { return flow->arrived(all()); });
    for (const DeviceMember& member : members)
        for (const BufferPtr& buffer : member.contents->buffers)
            EXPECT_EQ(
                std::memcmp(buffer->memory.data(), on_device(*buffer).data(), buffer->bytes()), 0);
    auto* const result = reinterpret_cast<float*>(scratch_.data());
    std::iota(result, result + layout_.bytes() / sizeof(float), 7.0F);
    // In strips that are not pieces, from the end.
    const size_t strip = size_t{3} << 16U;
    for (size_t i = collectives::chunk_count(all(), strip); i-- > 0;)
        flow->finished(collectives::chunk_of(all(), strip, i));
    ASSERT_TRUE(settle(*flow, {}));
    for (const DeviceMember& member : members) {
        EXPECT_TRUE(member.contents->made);
        bool given = false;
        member.contents->lane->when_done({}, [&](const Result<>&) { given = true; });
        turn_until([&] { return given; });
        EXPECT_EQ(on_device(*member.contents->buffers[0])[kFirst - 1], result[kFirst - 1]);
        const std::vector<float> second = on_device(*member.contents->buffers[1]);
        EXPECT_EQ(std::memcmp(second.data(), scratch_.data() + layout_.offset(1),
                              second.size() * sizeof(float)),
                  0);
    }
    EXPECT_EQ(failures_, 0);
}

// With two blocks of more than one piece each, the beginning of the second block comes before the
// end of the first.
TEST_F(DeviceFlowTest, WhatIsNeededFirstComesFirst) {
    const std::vector<DeviceMember> members{member(0)};
    const auto flow = this->flow(members);
    flow->begin(2, 65536);
    const ByteRange second = collectives::block_of(all(), 2, 1);
    const ByteRange its_first{second.begin, second.begin + 64};
    const ByteRange late{size_t{5} << 19U, (size_t{5} << 19U) + 64};  // 2.5 MiB into the first
    ASSERT_LT(late.end, second.begin);
    bool in_turn = true;
    while (!flow->arrived(all())) {
        in_turn = in_turn && (flow->arrived(its_first) || !flow->arrived(late));
        loop_->turn(true);
    }
    EXPECT_TRUE(in_turn);
    ASSERT_FALSE(settle(*flow, base::make_error(base::ErrorKind::aborted, "given up")));
}

TEST_F(DeviceFlowTest, AFailedSumLeavesWhatWasThere) {
    const std::vector<DeviceMember> members{member(3)};
    const Buffer& first = *members[0].contents->buffers[0];
    const Buffer& second = *members[0].contents->buffers[1];
    const std::vector<float> before_first = on_device(first);
    const std::vector<float> before_second = on_device(second);
    const auto flow = this->flow(members);
    flow->begin(2, 65536);
    turn_until([&] { return flow->arrived(all()); });
    std::memset(scratch_.data(), 0x55, layout_.bytes());
    flow->finished({0, size_t{4} << 20U});
    const auto settled =
        settle(*flow, base::make_error(base::ErrorKind::unavailable, "a node is gone"));
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().message, "a node is gone");
    EXPECT_FALSE(flow->lost());
    EXPECT_TRUE(members[0].contents->on_host);
    EXPECT_FALSE(members[0].contents->made);
    EXPECT_EQ(on_device(first), before_first);
    EXPECT_EQ(on_device(second), before_second);
}

TEST_F(DeviceFlowTest, ASumGivenUpBeforeAllHasArrivedIsBroughtAgain) {
    const std::vector<DeviceMember> members{member(3)};
    const auto flow = this->flow(members);
    flow->begin(2, 65536);
    ASSERT_FALSE(settle(*flow, base::make_error(base::ErrorKind::aborted, "given up")));
    EXPECT_FALSE(members[0].contents->on_host);
    std::optional<Result<>> landed;
    members[0].contents->bring([&](const Result<>& result) { landed = result; });
    turn_until([&] { return landed.has_value(); });
    EXPECT_TRUE(*landed);
    const Buffer& second = *members[0].contents->buffers[1];
    EXPECT_EQ(std::memcmp(second.memory.data(), on_device(second).data(), second.bytes()), 0);
}

}  // namespace
}  // namespace pace::daemon
