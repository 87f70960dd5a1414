// StreamWords: words of the host's memory by which streams of two processes tell each other how far
// they have come. Streams write the words and wait for them (cuStreamWriteValue64 and
// cuStreamWaitValue64); the processes read and write them, too.
//
// Events of the driver do the same, but need one /dev/shm and different process numbers in both
// namespaces, and nobody but the process that records an event can end a wait for it. A word needs
// a descriptor only, and a process stores the value itself when the other process has died.
//
// The context of the device must be current when StreamWords are made, used on a stream and
// destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/cuda/cuda_driver.h"
#include "base/memory/memfd.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::base::cuda {

// The words of one slot, in which one request at a time is in flight. Each word has the number of
// the last request for which it was written. The numbers of a slot's requests grow.
struct SlotWords {
    std::atomic<uint64_t> ready;   // by the trainer's streams: the request's data is there
    std::atomic<uint64_t> ended;   // by the daemon's streams: the request has ended
    std::atomic<uint64_t> passed;  // by the trainer's streams, behind a wait for `ended`
    std::atomic<uint64_t> probe;   // by both, to see whether streams can write words
    uint64_t padding[4];
};
static_assert(sizeof(SlotWords) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

class StreamWords {
  public:
    // A value that ends all waits: it is not below the number of any request.
    static constexpr uint64_t kReleased = INT64_MAX;

    // New words, all 0, or the words of another process's descriptor. Errors: the driver's, as
    // `unavailable`; of adopt() also `invalid` if the descriptor is not sealed memory of this size.
    // Threads: any. Blocks while the driver registers the memory.
    static Result<StreamWords> create(const CudaDriver& driver, uint32_t slots);
    static Result<StreamWords> adopt(const CudaDriver& driver, UniqueFd fd, uint32_t slots);
    StreamWords(StreamWords&& other) noexcept
        : driver_(other.driver_),
          slots_(other.slots_),
          memory_(std::move(other.memory_)),
          address_(std::exchange(other.address_, 0)) {}
    StreamWords& operator=(StreamWords&&) = delete;
    // No stream may use the words any more.
    ~StreamWords();

    int fd() const { return memory_.fd(); }
    uint32_t slots() const { return slots_; }
    SlotWords& at(uint32_t slot) const {
        return reinterpret_cast<SlotWords*>(memory_.data())[slot];
    }

    // Queues on the stream. `word` is a word of at().
    CUresult write(CUstream stream, const std::atomic<uint64_t>& word, uint64_t value) const {
        return driver_->stream_write_value(stream, address_of(word), value, 0);
    }
    CUresult wait(CUstream stream, const std::atomic<uint64_t>& word, uint64_t value) const {
        return driver_->stream_wait_value(stream, address_of(word), value, kWaitValueAtLeast);
    }

  private:
    StreamWords(const CudaDriver& driver, uint32_t slots, MappedMemfd memory)
        : driver_(&driver), slots_(slots), memory_(std::move(memory)) {}
    static Result<StreamWords> register_with(const CudaDriver& driver, uint32_t slots,
                                             MappedMemfd memory);
    CUdeviceptr address_of(const std::atomic<uint64_t>& word) const {
        return address_ +
               static_cast<CUdeviceptr>(reinterpret_cast<const std::byte*>(&word) - memory_.data());
    }

    const CudaDriver* driver_;
    uint32_t slots_;
    MappedMemfd memory_;
    CUdeviceptr address_ = 0;  // of the memory on the device; 0: not registered, or moved from
};

// Whether a word has come to a request. The numbers are compared as the driver does.
inline bool has_come(const std::atomic<uint64_t>& word, uint64_t request) {
    return static_cast<int64_t>(word.load(std::memory_order_acquire) - request) >= 0;
}

}  // namespace pace::base::cuda
