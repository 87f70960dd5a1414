// GpuCommunicator: sums over GPUs of one or several daemons, by NCCL; this process holds one or more of the ranks.
//
// All of it belongs to the loop's thread, and nothing in it blocks. NCCL is called by a thread of the communicator's own
// (communicator_thread.h), since any of its calls may block: even those of a communicator that is made not to.
//
// What is begun ends with exactly one call of its callback, whether the caller still holds the communicator or not; only with the loop do
// callbacks go that have not come. Devices must outlive what is under way. A communicator that is let go, ready and idle, is
// finalized in the background; one that is broken has been given up there.
//
// While a sum is under way, one of its kernels may wait on a GPU for ranks elsewhere. Any call of CUDA that waits for the whole device
// (freeing memory, say) waits for them, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cuda_driver.h"
#include "base/event_loop.h"
#include "base/result.h"
#include "daemon/device/device.h"
#include "daemon/device/nccl_library.h"

namespace pace::device {

class CommunicatorThread;

// By which the ranks of one communicator find each other: one process makes it and tells the others.
struct GroupId {
    std::array<std::byte, sizeof(ncclUniqueId)> bytes{};
};

// Good for one communicator. Any thread. May block for seconds the first time, as NCCL is loaded and looks at the node's networks.
base::Result<GroupId> make_group_id();

class GpuCommunicator : public std::enable_shared_from_this<GpuCommunicator> {
  public:
    using Callback = std::function<void(const base::Result<>&)>;

    // Of this process; its devices and ranks are distinct.
    struct Rank {
        Device* device = nullptr;
        uint32_t rank = 0;
    };
    // Device memory of one element type; `dtype` as in plugin.h: f32, f64, f16 or bf16.
    struct Segment {
        void* data = nullptr;
        uint64_t count = 0;
        uint32_t dtype = 0;
    };
    // What a local rank brings, and the stream of its device in whose turn it is summed. All ranks bring as many segments, of the same
    // types and counts.
    struct Share {
        base::cuda::CUstream stream = nullptr;
        std::vector<Segment> segments;
    };
    enum class State { making, ready, broken };

    // Begins to make it. `ready` comes when all ranks of the `world` have met, or with the reason why not: `timeout` if they
    // have not within `deadline`.
    static std::shared_ptr<GpuCommunicator> create(base::EventLoop& loop,
                                                   const NcclLibrary& library, const GroupId& id,
                                                   uint32_t world, std::vector<Rank> ranks,
                                                   base::Duration deadline, Callback ready);
    ~GpuCommunicator();
    GpuCommunicator(const GpuCommunicator&) = delete;
    GpuCommunicator& operator=(const GpuCommunicator&) = delete;

    State state() const;

    // Sums each segment over all ranks, in place: for each local rank, in the order of create(), what is in `shares`. `ended` comes when
    // the sums have ended on all local streams, or with an error; until then the memory and the streams are the communicator's:
    // what a stream is given meanwhile may come before the sum or behind it. One sum at a time. A call that does not fit (`invalid`) begins
    // nothing and breaks nothing; after any other error, one of NCCL's own `invalid` too, the communicator is broken, as state() says.
    void sum(std::vector<Share> shares, Callback ended);

    // Breaks it, and gives up what is under way. `ready` comes with `why`; `ended`, too, but once NCCL touches the memory no more, however
    // long that takes: a deadline would have the caller free memory under a running kernel.
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
    std::shared_ptr<CommunicatorThread> thread_;  // null: it could not be begun
    Callback ready_;                              // due
    Callback ended_;                              // due
    std::vector<base::cuda::CUstream> streams_;   // of the sum that is under way
    bool awaiting_ = false;                       // streams_ have been asked
    size_t streams_left_ = 0;                     // that have not come so far
};

}  // namespace pace::device
