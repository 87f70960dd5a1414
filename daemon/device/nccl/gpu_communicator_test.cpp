// GpuCommunicator tests: with the simulated driver and NCCL, the results of sums, refused calls,
// and when a communicator may be dropped. Each test is a process of its own.
#include <array>

#include "base/half.h"
#include "daemon/device/nccl/gpu_communicator_fixture.h"

namespace pace::device {
namespace {

TEST(GpuCommunicator, SumsSegmentsOfAllTypesOverItsDevices) {
    for (const int count : {2, 3}) {
        with_gpus(count, "", [&] {
            Gpus gpus;
            const auto communicator = gpus.make();
            EXPECT_EQ(communicator->state(), GpuCommunicator::State::ready);
            std::vector<GpuCommunicator::Share> shares;
            for (size_t i = 0; i < gpus.devices.size(); ++i) {
                const auto mine = static_cast<float>(i + 1);
                gpus.write<float>(i, 0, {mine, 10 * mine, -mine, 0, 1});
                gpus.write<double>(i, 1024, {0.5 * mine});
                gpus.write<uint16_t>(i, 2048, std::vector(7, base::f16_from_float(mine)));
                gpus.write<uint16_t>(i, 3072, std::vector(333, base::bf16_from_float(mine)));
                shares.push_back(
                    {gpus.streams[i],
                     {gpus.segment(i, 0, 5, kF32), gpus.segment(i, 1024, 1, kF64),
                      gpus.segment(i, 2048, 7, kF16), gpus.segment(i, 3072, 333, kBf16)}});
            }
            Outcome ended;
            communicator->sum(shares, ended.callback());
            gpus.await(ended);
            ASSERT_TRUE(*ended.result) << ended.text();
            const float all = count == 2 ? 3.0F : 6.0F;
            const auto ranks = static_cast<float>(count);
            for (size_t i = 0; i < gpus.devices.size(); ++i) {
                EXPECT_EQ(gpus.read<float>(i, 0, 5),
                          (std::vector{all, 10 * all, -all, 0.0F, ranks}));
                EXPECT_EQ(gpus.read<double>(i, 1024, 1), std::vector(1, 0.5 * all));
                EXPECT_EQ(gpus.read<uint16_t>(i, 2048, 7),
                          std::vector(7, base::f16_from_float(all)));
                EXPECT_EQ(gpus.read<uint16_t>(i, 3072, 333),
                          std::vector(333, base::bf16_from_float(all)));
            }
        });
    }
}

TEST(GpuCommunicator, SumsAgainAndAgainAndAnotherOneAfterIt) {
    with_gpus(2, "", [] {
        Gpus gpus;
        gpus.write<float>(0, 0, {1, 2, 3});
        gpus.write<float>(1, 0, {1, 2, 3});
        for (int i = 0; i < 2; ++i) {
            const auto communicator = gpus.make();
            for (int k = 0; k < 2; ++k) {
                Outcome ended;
                gpus.sum(*communicator, {0, 1}, ended);
                gpus.await(ended);
                EXPECT_TRUE(*ended.result) << ended.text();
            }
        }
        EXPECT_EQ(gpus.read<float>(1, 0, 3), (std::vector<float>{16, 32, 48}));
    });
}

TEST(GpuCommunicator, TheNextSumMayBeginWhereOneEnds) {
    with_gpus(2, "", [] {
        Gpus gpus;
        auto communicator = gpus.make();
        Outcome last;
        const std::vector shares{gpus.share(0), gpus.share(1)};
        communicator->sum(shares, [&](const Result<>& first) {
            EXPECT_TRUE(first);
            communicator->sum(shares, last.callback());
            communicator = nullptr;  // the sum ends nevertheless
        });
        gpus.await(last);
        EXPECT_TRUE(*last.result) << last.text();
    });
}

TEST(GpuCommunicator, SumsThatDoNotFitAreRefusedAndBreakNothing) {
    with_gpus(2, "", [] {
        Gpus gpus;
        const auto communicator = gpus.make();
        const auto text_of = [&](const std::vector<GpuCommunicator::Share>& shares) {
            Outcome ended;
            communicator->sum(shares, ended.callback());
            EXPECT_FALSE(ended.result) << "from the loop only";
            gpus.await(ended);
            EXPECT_TRUE(ended.failed(ErrorKind::invalid));
            return ended.text();
        };
        EXPECT_EQ(text_of({gpus.share(0)}), "a sum with 1 shares, of 2 ranks of this process");
        EXPECT_EQ(text_of({gpus.share(0), gpus.share(1, 4)}),
                  "a sum whose ranks bring segments of different types or counts");
        EXPECT_EQ(text_of({gpus.share(0, 3, 5), gpus.share(1, 3, 5)}),
                  "element type 5 is none that GPUs sum");
        Outcome first;
        gpus.sum(*communicator, {0, 1}, first);
        EXPECT_EQ(text_of({gpus.share(0), gpus.share(1)}), "a sum while another is under way");
        gpus.await(first);
        EXPECT_TRUE(*first.result) << first.text();
    });
}

TEST(GpuCommunicator, RanksThatDoNotFitAreRefused) {
    with_gpus(2, "", [] {
        Gpus gpus;
        const auto text_of = [&](const std::vector<GpuCommunicator::Rank>& ranks) {
            Outcome ready;
            const auto communicator = GpuCommunicator::create(
                *gpus.loop, **NcclLibrary::get(), {}, 2, ranks, minutes(1), ready.callback());
            EXPECT_EQ(communicator->state(), GpuCommunicator::State::broken);
            communicator->abort(why());
            gpus.await(ready);
            return ready.text();
        };
        Device* const device = gpus.devices[0].get();
        EXPECT_EQ(text_of({}), "no rank of the 2 GPUs is of this process");
        EXPECT_EQ(text_of({{device, 2}}), "rank 2 of a group of 2 GPUs");
        EXPECT_EQ(text_of({{device, 0}, {device, 1}}),
                  "rank 1 of 2 GPUs: each has a rank and a device of its own");
        Outcome ended;
        Outcome ready;
        const auto early = gpus.begin(*make_group_id(), 2, {0}, ready);
        gpus.sum(*early, {0}, ended);
        gpus.await(ended);
        EXPECT_EQ(ended.text(), "a sum before the GPUs have met");
    });
}

TEST(GpuCommunicator, CanBeLetGoInAnyState) {
    with_gpus(2, "", [] {
        Gpus gpus;
        gpus.make();  // ready
        Outcome ready;
        gpus.begin(*make_group_id(), 2, {0}, ready, milliseconds(50));  // making
        gpus.await(ready);
        EXPECT_TRUE(ready.failed(ErrorKind::timeout)) << ready.text();
        Outcome ended;
        gpus.sum(*gpus.make(), {0, 1}, ended);  // summing
        gpus.await(ended);
        EXPECT_TRUE(*ended.result) << ended.text();
        gpus.make()->abort(why());  // broken
    });
}

TEST(GpuCommunicator, OutlivesNeitherLoopNorDevices) {
    with_gpus(2, "", [] {
        // Static, since nothing reports when the sum has ended.
        static std::array<float, 3> memory;
        Outcome ended;
        Pair pair;
        pair.parts[0]->sum({{pair.gpus.streams[0], {{memory.data(), memory.size(), kF32}}}},
                           ended.callback());
        pair.gpus.loop->turn(true);  // the sum is on the stream and never completes
        pair.parts.clear();
        pair.gpus.memories.clear();
        pair.gpus.devices.clear();
        pair.gpus.loop.reset();
        EXPECT_FALSE(ended.result);
    });
    with_gpus(2, "", [] {
        Outcome ready;
        const Gpus gpus;
        gpus.begin(*make_group_id(), 2, {0}, ready);  // the loop never runs
    });
}

}  // namespace
}  // namespace pace::device
