// CommunicatorThread: NCCL's communicators of the ranks that one GpuCommunicator has in this
// process, and the only thread that calls NCCL for them. Only to end several ranks at once, it has
// a thread for each.
//
// The loop gives it commands, and it wakes the loop through a descriptor. The thread knows neither
// the loop nor a Device and holds the devices' contexts itself: loop and Device may be gone while
// it still ends its communicators.
//
//     making ──> idle ──> queueing ──> summing ──> idle …       idle ──> finalizing (let go)
//     each of these, by an error or by abort() ──> aborting ──> aborted
//
// The loop changes idle to queueing and summing to idle; the thread makes the other changes. Both
// may change to aborting.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/condition.h"
#include "base/cuda/cuda_driver.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/device/nccl/gpu_communicator.h"
#include "daemon/device/nccl/nccl_library.h"

namespace pace::device {

class CommunicatorThread {
  public:
    enum class Phase {
        making,      // the ranks are meeting
        idle,        // all ranks have met, and nothing is in flight
        queueing,    // a sum is being put on the streams
        summing,     // the sum is on the streams, which tell when it ends
        aborting,    // reason() says why
        aborted,     // work begun on the streams ends by itself
        finalizing,  // no caller waits any more
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

    // Readable after a change of phase that the loop did not make, until cleared.
    int descriptor() const { return news_.get(); }
    void clear_descriptor() const;

    Phase phase() const;
    base::Error reason() const;

    // Changes idle to queueing.
    void sum(std::vector<GpuCommunicator::Share> shares);
    // Changes summing to idle. Returns false if an error came first.
    bool end_sum() { return change(Phase::summing, Phase::idle); }
    // Changes any phase to aborting, unless the communicator aborts already.
    void abort(const base::Error& why);
    // The last call: aborts a running sum, finalizes an idle communicator.
    void leave();
    // Returns false if the thread has not ended by `deadline`.
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
    void at_once(const std::function<void(size_t)>& end_member);
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

    // Used only by the thread; `shares_` from queueing on.
    std::vector<Member> members_;
    std::vector<GpuCommunicator::Share> shares_;
};

}  // namespace pace::device
