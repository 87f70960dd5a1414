// GpuCommunicator tests: sums over GPUs that fail: absent or leaving ranks, failing calls and
// devices, a NCCL that is too old.
#include <thread>

#include "base/cuda/cuda_driver.h"
#include "daemon/device/nccl/communicator_thread.h"
#include "daemon/device/nccl/gpu_communicator_fixture.h"

namespace pace::device {
namespace {

TEST(GpuCommunicator, ARankThatNeverComesIsWaitedForUntilTheDeadline) {
    with_gpus(3, "", [] {
        Gpus gpus;
        Outcome ready;
        const auto communicator = gpus.begin(*make_group_id(), 3, {0, 1}, ready, milliseconds(200));
        EXPECT_EQ(communicator->state(), GpuCommunicator::State::making);
        gpus.await(ready);
        EXPECT_TRUE(ready.failed(ErrorKind::timeout)) << ready.text();
        EXPECT_EQ(ready.text(), "rank 0, 1 of 3 GPUs waited 0.2 s in vain for the others");
        EXPECT_EQ(communicator->state(), GpuCommunicator::State::broken);
    });
}

// NCCL documents that a rank's end waits for those of the other ranks of the machine.
TEST(GpuCommunicator, ItsRanksEndAtOnce) {
    for (const bool is_aborted : {false, true}) {
        simulated_gpu::apart(
            {{"PACE_SIMULATED_GPUS", "3"}, {"PACE_SIMULATED_NCCL_TOGETHER", "1"}}, [&] {
                simulated_gpu::use_simulated_nccl();
                const Gpus gpus;
                const auto& library = NcclLibrary::get();
                const auto& driver = base::cuda::CudaDriver::get();
                ASSERT_TRUE(library && driver);
                const auto thread =
                    CommunicatorThread::start(**library, **driver, *make_group_id(), 3,
                                              {{0, 0}, {1, 1}, {2, 2}}, std::chrono::seconds(30));
                ASSERT_TRUE(thread) << thread.error().message;
                while ((*thread)->phase() == CommunicatorThread::Phase::making)
                    std::this_thread::yield();
                ASSERT_EQ((*thread)->phase(), CommunicatorThread::Phase::idle);
                if (is_aborted) (*thread)->abort(why());
                (*thread)->leave();
                EXPECT_TRUE((*thread)->wait_for_end(base::now() + std::chrono::seconds(30)));
            });
    }
}

TEST(GpuCommunicator, IsGivenUpWhileTheRanksMeet) {
    with_gpus(2, "", [] {
        Gpus gpus;
        Outcome ready;
        auto communicator = gpus.begin(*make_group_id(), 2, {0}, ready);
        communicator->abort(why());
        communicator->abort(make_error(ErrorKind::internal, "the first reason counts"));
        EXPECT_FALSE(ready.result) << "from the loop only";
        communicator = nullptr;
        gpus.await(ready);
        EXPECT_EQ(ready.text(), why().message);
    });
}

TEST(GpuCommunicator, IsGivenUpWhileItsFirstSumWaitsForAnotherRank) {
    with_gpus(2, "", [] {
        Gpus gpus;
        const auto parts = gpus.make({{0}, {1}});
        Outcome ended;
        gpus.sum(*parts[0], {0}, ended);
        parts[0]->abort(why());
        gpus.await(ended);
        EXPECT_EQ(ended.text(), why().message);
        EXPECT_EQ(parts[0]->state(), GpuCommunicator::State::broken);
        Outcome next;
        gpus.sum(*parts[0], {0}, next);
        gpus.await(next);
        EXPECT_EQ(next.text(), why().message);
    });
}

TEST(GpuCommunicator, AnAbortedSumEndsWhenItsStreamHas) {
    with_gpus(2, "", [] {
        Pair pair;
        simulated_gpu::Gate gate;
        {
            const auto scope = pair.gpus.devices[0]->enter();
            gate.hold(pair.gpus.streams[0]);
        }
        Outcome ended;
        pair.gpus.sum(*pair.parts[0], {0}, ended);
        pair.parts[0]->abort(why());
        // The other rank's error shows that this one has left.
        Outcome other;
        pair.gpus.sum(*pair.parts[1], {1}, other);
        pair.gpus.await(other);
        EXPECT_TRUE(other.failed(ErrorKind::unavailable)) << other.text();
        EXPECT_FALSE(ended.result) << "its memory is still to be touched";
        gate.open();
        pair.gpus.await(ended);
        EXPECT_EQ(ended.text(), why().message);
    });
}

TEST(GpuCommunicator, ARankThatLeavesEndsTheOthersSums) {
    with_gpus(2, "", [] {
        Pair pair;
        Outcome ended;
        pair.gpus.sum(*pair.parts[0], {0}, ended);
        pair.parts[1]->abort(why());
        pair.gpus.await(ended);
        EXPECT_TRUE(ended.failed(ErrorKind::unavailable)) << ended.text();
        EXPECT_NE(ended.text().find("a rank has left"), std::string::npos) << ended.text();
        EXPECT_EQ(pair.parts[0]->state(), GpuCommunicator::State::broken);
    });
}

TEST(GpuCommunicator, ADeviceThatFailsEndsTheSum) {
    simulated_gpu::apart(
        {{"PACE_SIMULATED_GPUS", "2"}, {"PACE_SIMULATED_GPU_FAIL", "cuEventQuery:1"}}, [] {
            simulated_gpu::use_simulated_nccl();
            Gpus gpus;
            const auto communicator = gpus.make();
            Outcome ended;
            gpus.sum(*communicator, {0, 1}, ended);
            gpus.await(ended);
            EXPECT_TRUE(ended.failed(ErrorKind::unavailable)) << ended.text();
            EXPECT_NE(ended.text().find("GPU-"), std::string::npos) << ended.text();
            // A GPU that has failed runs nothing more. The simulated one fails in one call only,
            // and its stream still writes to the memory.
            gpus.drain_streams();
        });
}

TEST(GpuCommunicator, CallsThatFailAreToldAndNothingHangs) {
    with_gpus(1, "ncclGetUniqueId:1", [] { EXPECT_FALSE(make_group_id()); });
    for (const char* const fault :
         {"ncclGroupStart:1", "ncclCommInitRankConfig:1", "ncclCommInitRankConfig:2",
          "ncclGroupEnd:1", "ncclCommGetAsyncError:1"}) {
        with_gpus(2, fault, [&] {
            Gpus gpus;
            Outcome ready;
            const auto communicator = gpus.begin(*make_group_id(), 2, {0, 1}, ready);
            gpus.await(ready);
            EXPECT_TRUE(ready.failed(ErrorKind::unavailable)) << fault << ": " << ready.text();
        });
    }
    for (const char* const fault :
         {"ncclGroupStart:2", "ncclAllReduce:1", "ncclAllReduce:2", "ncclGroupEnd:2"}) {
        with_gpus(2, fault, [&] {
            Gpus gpus;
            const auto communicator = gpus.make();
            Outcome ended;
            gpus.sum(*communicator, {0, 1}, ended);
            gpus.await(ended);
            EXPECT_TRUE(ended.failed(ErrorKind::unavailable)) << fault << ": " << ended.text();
            EXPECT_EQ(communicator->state(), GpuCommunicator::State::broken);
        });
    }
    for (const char* const fault : {"ncclCommFinalize:1", "ncclCommDestroy:1", "ncclCommAbort:1"})
        with_gpus(2, fault, [&] { Gpus().make(); });
}

TEST(GpuCommunicator, NeedsANcclThatIsNewEnough) {
    simulated_gpu::apart({{"PACE_SIMULATED_NCCL_VERSION", "2804"}}, [] {
        simulated_gpu::use_simulated_nccl();
        const auto id = make_group_id();
        ASSERT_FALSE(id);
        EXPECT_EQ(id.error().kind, ErrorKind::unavailable);
        EXPECT_EQ(
            id.error().message,
            "NCCL 2.8.4 is too old: communicators that are made without blocking need 2.14.0");
    });
    with_gpus(1, "", [] { EXPECT_EQ((*NcclLibrary::get())->version, 22105); });
    EXPECT_EQ(nccl_version_text(22105), "2.21.5");
}

}  // namespace
}  // namespace pace::device
