// CommunicatorThread: NCCL's communicators of the ranks that one GpuCommunicator has here, and the thread that alone calls NCCL for them.
//
// The loop tells it what to do, and is woken by a descriptor. The thread knows neither the loop nor a Device, and holds the devices'
// contexts by itself: both may go while it still puts an end to its communicators.
//
//     making ──> idle ──> queueing ──> summing ──> idle …       idle ──> finalizing (let go)
//     each of these, by an error or by abort() ──> aborting ──> aborted
//
// The loop makes queueing, and idle after summing; the thread makes the others. Either may make aborting.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/condition.h"
#include "base/cuda_driver.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/device/gpu_communicator.h"
#include "daemon/device/nccl_library.h"

namespace pace::device {

class CommunicatorThread {
  public:
    enum class Phase {
        making,      // the ranks are meeting
        idle,        // they have met, and nothing is under way
        queueing,    // a sum is being put on the streams
        summing,     // it is there; the streams tell when it ends
        aborting,    // reason() says why
        aborted,     // what has begun on the streams ends by itself
        finalizing,  // nobody is to hear of it any more
    };
    struct Rank {
        int ordinal = 0;  // of the device
        uint32_t rank = 0;
    };

    static base::Result<std::shared_ptr<CommunicatorThread>> start(
        const NcclLibrary& library, const base::cuda::CudaDriver& driver, const GroupId& id,
        uint32_t world, const std::vector<Rank>& ranks, base::Duration deadline);
    CommunicatorThread(const CommunicatorThread&) = delete;
    CommunicatorThread& operator=(const CommunicatorThread&) = delete;

    // Readable from when there is a phase that the loop has not made, until it is cleared.
    int descriptor() const { return news_.get(); }
    void clear_descriptor() const;

    Phase phase() const;
    base::Error reason() const;

    // idle to queueing.
    void sum(std::vector<GpuCommunicator::Share> shares);
    // summing to idle; false if an error was before that.
    bool end_sum() { return change(Phase::summing, Phase::idle); }
    // Any to aborting; nothing if it was before that.
    void abort(const base::Error& why);
    // The last call: what is under way is aborted, what is idle is finalized.
    void leave();
    // False: the thread has not ended by then.
    bool wait_for_end(base::TimePoint deadline);

  private:
    struct Member {
        int ordinal = 0;
        int rank = 0;
        base::cuda::CUcontext context = nullptr;  // null: not held
        ncclComm_t communicator = nullptr;
    };

    CommunicatorThread(const NcclLibrary& library, const base::cuda::CudaDriver& driver)
        : library_(library), driver_(driver) {}

    void run();
    void work();
    Phase next();
    bool change(Phase from, Phase to);
    void ring() const;
    bool rest(Phase phase, base::Duration pause);

    base::Result<> make();
    base::Result<> make_members();
    base::Result<> queue();
    base::Result<> queue_members();
    base::Result<> queue_member(Member& member, const GpuCommunicator::Share& share);
    base::Result<> finalize();
    void abort_members();
    base::Result<> hold_contexts();
    void release_contexts();

    template <typename Calls>
    base::Result<> in_a_group(Calls calls);
    base::Result<bool> is_settled();
    base::Result<bool> settle(Phase phase, base::TimePoint deadline);
    std::string members_text() const;

    const NcclLibrary& library_;
    const base::cuda::CudaDriver& driver_;
    ncclUniqueId id_{};
    int world_ = 0;
    base::Duration deadline_{};
    base::UniqueFd news_;

    mutable std::mutex mutex_;
    base::Condition changed_;
    Phase phase_ = Phase::making;
    bool leaving_ = false;
    bool ended_ = false;
    base::Error reason_;

    // The thread's own, the shares from queueing on.
    std::vector<Member> members_;
    std::vector<GpuCommunicator::Share> shares_;
};

}  // namespace pace::device
