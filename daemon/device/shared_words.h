// SharedWords: a StreamOrder by words of memory that a trainer shares (base/cuda/stream_words.h).
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/cuda/stream_words.h"
#include "base/unique_fd.h"
#include "daemon/device/device.h"
#include "daemon/device/stream_order.h"

namespace pace::device {

class SharedWords final : public StreamOrder {
  public:
    // The words of a trainer's descriptor. Threads: any. Blocks while the driver registers them.
    // Errors: invalid (the descriptor), unavailable (the device's streams have no words).
    static base::Result<std::shared_ptr<SharedWords>> adopt(Device& device, base::UniqueFd fd,
                                                            uint32_t slots);
    // Device::release() destroys it in a thread.
    ~SharedWords() override;

    uint32_t slots() const override { return words_->slots(); }
    // The driver may know the functions for words and refuse them, for example under MPS.
    base::Result<> probe(base::cuda::CUstream stream) const override;
    void await_data(const void* owner, uint32_t slot, uint64_t request,
                    std::function<void(const base::Result<>&)> callback) override;
    base::Result<> tell(uint32_t slot, uint64_t request, base::cuda::CUstream stream) override;
    void release(uint32_t slot, uint64_t request, base::cuda::CUstream stream) override;

  private:
    SharedWords(Device& device, base::cuda::StreamWords words)
        : device_(device), words_(std::move(words)) {}

    Device& device_;
    std::optional<base::cuda::StreamWords> words_;  // never empty before the destructor
};

}  // namespace pace::device
