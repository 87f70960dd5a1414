// GpuCommunicator: sums over GPUs of one or several daemons, by NCCL. This process holds one or
// more of the ranks.
//
// Used only in the loop's thread, and nothing in it blocks. A thread of the communicator calls NCCL
// (communicator_thread.h), since any NCCL call may block, even for communicators created as
// non-blocking.
//
// Each started operation ends with exactly one call of its callback, whether or not the caller
// still holds the communicator. Pending callbacks are dropped only with the loop. Devices must
// outlive running operations. A communicator that is let go while ready and idle is finalized in
// the background; a broken one has already been aborted there.
//
// During a sum, one of its kernels may wait on a GPU for ranks elsewhere. Any CUDA call that waits
// for the whole device (such as freeing memory) then waits for them, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cuda/cuda_driver.h"
#include "base/loop/event_loop.h"
#include "base/result.h"
#include "daemon/device/device.h"
#include "daemon/device/nccl/nccl_library.h"

namespace pace::device {

class CommunicatorThread;

// By this id the ranks of one communicator find each other: one process makes the id and sends it
// to the others.
struct GroupId {
    std::array<std::byte, sizeof(ncclUniqueId)> bytes{};
};

// Returns an id for one communicator. Any thread. The first call may block for seconds, while NCCL
// is loaded and inspects the node's networks.
base::Result<GroupId> make_group_id();

class GpuCommunicator : public std::enable_shared_from_this<GpuCommunicator> {
  public:
    using Callback = std::function<void(const base::Result<>&)>;

    // A rank of this process. Devices and ranks must be distinct.
    struct Rank {
        Device* device = nullptr;
        uint32_t rank = 0;
    };
    // Device memory of one element type. `dtype` as in plugin.h: f32, f64, f16 or bf16.
    struct Segment {
        void* data = nullptr;
        uint64_t count = 0;
        uint32_t dtype = 0;
    };
    // A local rank's segments, and the stream of its device in whose order they are summed. All
    // ranks have the same number of segments, of the same types and counts.
    struct Share {
        base::cuda::CUstream stream = nullptr;
        std::vector<Segment> segments;
    };
    enum class State { making, ready, broken };

    // Begins to make a communicator. `ready` is called when all `world` ranks have met, or with the
    // error; `timeout` if they have not met within `deadline`.
    static std::shared_ptr<GpuCommunicator> create(base::EventLoop& loop,
                                                   const NcclLibrary& library, const GroupId& id,
                                                   uint32_t world, std::vector<Rank> ranks,
                                                   base::Duration deadline, Callback ready);
    ~GpuCommunicator();
    GpuCommunicator(const GpuCommunicator&) = delete;
    GpuCommunicator& operator=(const GpuCommunicator&) = delete;

    State state() const;

    // Sums each segment over all ranks, in place. `shares` holds each local rank's share, in the
    // order of create(). `ended` is called when the sums have ended on all local streams, or with
    // an error. Until then the communicator owns the memory and the streams; other work put on a
    // stream meanwhile may run before or after the sum. Only one sum at a time. A call with wrong
    // arguments (`invalid`) starts nothing and breaks nothing. Any other error breaks the
    // communicator, as state() tells, even an `invalid` from NCCL itself.
    void sum(std::vector<Share> shares, Callback ended);

    // Breaks the communicator and aborts running operations. `ready` is called with `why`. So is
    // `ended`, but only when NCCL no longer touches the memory, however long that takes: with a
    // deadline, the caller might free memory under a running kernel.
    void abort(const base::Error& why);

  private:
    GpuCommunicator(base::EventLoop& loop, std::vector<Rank> ranks)
        : loop_(loop), ranks_(std::move(ranks)) {}

    base::Result<> begin(const NcclLibrary& library, const GroupId& id, uint32_t world,
                         base::Duration deadline);
    base::Result<> begin_sum(std::vector<Share> shares);
    base::Result<> check(const std::vector<Share>& shares) const;
    base::Result<> listen();
    void look();
    void look_at_sum();
    void await_streams();
    void finish(Callback& callback, const base::Result<>& result);

    base::EventLoop& loop_;
    std::vector<Rank> ranks_;
    std::shared_ptr<CommunicatorThread> thread_;  // null: it could not be started
    Callback ready_;                              // pending, or null
    Callback ended_;                              // pending, or null
    std::vector<base::cuda::CUstream> streams_;   // of the running sum
    bool awaiting_ = false;                       // streams_ are being awaited
    size_t streams_left_ = 0;  // streams that have not reached the end of the sum
};

}  // namespace pace::device
