// Rank: one rank's communicator of the simulated NCCL.
//
// A thread of the rank's own hears the rendezvous. The thread of the stream sends data to be summed
// there and waits for the sum, in the stream's turn. Like a kernel, it waits for the other ranks
// until it is aborted, whatever has become of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/unique_fd.h"
#include "daemon/device/nccl/nccl_library.h"
#include "tests/simulated_gpu/nccl/nccl_message.h"

namespace pace::simulated_gpu {

class Rank : public std::enable_shared_from_this<Rank> {
  public:
    struct Sum {
        const void* from;
        void* to;
        size_t bytes;
        device::ncclDataType_t type;
        base::cuda::CUstream stream;
    };

    // Joins on the device whose context is current. Returns null if there is none.
    static std::shared_ptr<Rank> join(const base::cuda::CudaDriver& driver,
                                      const device::ncclUniqueId& id, int world, int rank);
    Rank(const base::cuda::CudaDriver& driver, base::cuda::CUdevice device)
        : driver_(driver), device_(device) {}
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    device::ncclResult_t state() const;
    // Begins to queue the sums on their streams. When the state is success again, they are queued.
    void queue(std::vector<Sum> sums);
    void finalize();
    void await_settled();
    // Returns when the rank hears nothing any more. Sums that are queued on streams end in their
    // turn.
    void abort();

  private:
    struct Queued {
        std::shared_ptr<Rank> rank;
        Sum sum;
    };

    void hear();
    void take(Message message);
    void settle(device::ncclResult_t state);
    void begin(MessageKind kind, const void* bytes = nullptr, size_t size = 0);
    void say(MessageKind kind, int number, const void* bytes, size_t size);
    device::ncclResult_t launch();
    void do_sum(const Sum& sum);

    const base::cuda::CudaDriver& driver_;
    const base::cuda::CUdevice device_;
    base::cuda::CUcontext context_ = nullptr;
    std::string id_;  // of the communicator
    base::UniqueFd socket_;
    std::mutex saying_;
    std::thread thread_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    device::ncclResult_t state_ = device::ncclInProgress;
    std::vector<Sum> waiting_;  // sums that are to be queued
    std::optional<std::vector<std::byte>> total_;
    bool aborted_ = false;
};

// Returns the text of ncclGetLastError, for any communicator. The text is never null, and stays
// valid.
const char* last_error();
void set_last_error(const std::string& text);

}  // namespace pace::simulated_gpu
