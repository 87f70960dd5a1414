// GpuWords: a GpuOrder by words of memory that this process and the daemon share
// (base/cuda/stream_words.h). If the daemon dies, a thread stores the values that its streams owe,
// so that no stream waits for ever. It may wait for a request that is still in flight.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/cuda/stream_words.h"
#include "base/result.h"
#include "libclient/link/hangup_watch.h"
#include "libclient/memory/gpu_order.h"

namespace pace::client {

class GpuWords final : public GpuOrder {
  public:
    // The device's primary context must be retained as long as the GpuWords. Fails with
    // `unavailable` if the driver's streams have no words.
    static base::Result<std::shared_ptr<GpuWords>> create(const base::cuda::CudaDriver& driver,
                                                          base::cuda::CUdevice device,
                                                          uint32_t slots);
    // Releases the streams. Words that a stream may still use stay where they are until it has
    // used them.
    ~GpuWords() override;

    // For the daemon.
    int fd() const { return words_->fd(); }
    // From now on the daemon at the other end of the socket tells. Fails with `memory`.
    base::Result<> follow(int socket);

    base::cuda::CUresult record(uint32_t slot, uint64_t request,
                                base::cuda::CUstream stream) override;
    void submitted(uint32_t slot, uint64_t request) override;
    base::cuda::CUresult await_on(uint32_t slot, uint64_t request,
                                  base::cuda::CUstream stream) override;
    base::cuda::CUresult has_come(uint32_t slot, uint64_t request) override;
    bool holds_streams() const override { return !is_hosted_; }
    void release() override;

  private:
    // What this process has queued for a slot.
    struct Queued {
        uint64_t recorded = 0;   // the last request that was recorded
        uint64_t submitted = 0;  // the last request that the daemon has got, and the one before
        uint64_t before = 0;
        uint64_t waits = 0;  // how often a stream was made to wait
    };

    GpuWords(const base::cuda::CudaDriver& driver, base::cuda::CUdevice device,
             base::cuda::StreamWords words);
    void store() const;
    void leave_words();

    const pid_t process_;
    const base::cuda::CudaDriver& driver_;
    const base::cuda::CUdevice device_;
    std::unique_ptr<base::cuda::StreamWords> words_;
    std::vector<Queued> queued_;  // by slot
    // The daemon is in this process. Its streams are in the context of ours, and share queues of
    // the GPU: a stream that waited for them could hold them up.
    bool is_hosted_ = false;
    std::unique_ptr<HangupWatch> watch_;
};

}  // namespace pace::client
