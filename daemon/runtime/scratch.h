// Scratch: page-aligned memory for one result, reused from exchange to exchange so that its pages
// are touched only once.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "base/attempt.h"
#include "base/result.h"
#include "base/threads/release_thread.h"
#include "daemon/device/pinned_memory.h"
#include "daemon/runtime/accounts.h"

namespace pace::daemon {

class Scratch {
  public:
    Scratch() = default;
    Scratch(Scratch&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          pin_(std::exchange(other.pin_, std::nullopt)),
          charge_(std::move(other.charge_)) {}
    Scratch& operator=(Scratch&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(pin_, other.pin_);
        std::swap(charge_, other.charge_);
        return *this;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { release(); }

    // At least `bytes` of memory with undefined contents. The memory only grows: a job that
    // exchanges large and small buffers in turn must not touch new pages for each large one.
    base::Result<std::span<std::byte>> reserve(size_t bytes) {
        if (!fits(bytes)) {
            release();
            void* address =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (address == MAP_FAILED)
                return base::make_error(base::ErrorKind::memory,
                                        "no {} bytes of memory for an exchange's result", bytes);
            data_ = static_cast<std::byte*>(address);
            size_ = bytes;
        }
        return std::span<std::byte>{data_, bytes};
    }

    // As above. The memory is charged to this user from now on, whoever keeps it.
    base::Result<std::span<std::byte>> reserve(size_t bytes, const Payer& payer) {
        PACE_TRY_ASSIGN(memory, reserve(bytes));
        if (charge_.bytes() != size_) {
            charge_ = Charge();
            charge_ = payer.count(size_);
        }
        return memory;
    }

    // Pins the reserved memory, so that GPUs copy from it by themselves as long as it stays.
    base::Result<> pin(device::Device& gpu) {
        if (pin_) return {};
        PACE_TRY_ASSIGN(pin, device::PinnedMemory::pin(gpu, data_, size_));
        pin_ = std::move(pin);
        return {};
    }

    bool is_pinned() const { return pin_.has_value(); }

    // Whether reserve(bytes) keeps the memory and its contents.
    bool fits(size_t bytes) const { return bytes <= size_; }

    size_t size() const { return size_; }
    std::byte* data() const { return data_; }

  private:
    class Mapping {
      public:
        Mapping(std::byte* data, size_t size) : data_(data), size_(size) {}
        Mapping(Mapping&& other) noexcept
            : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
        Mapping& operator=(Mapping&&) = delete;
        ~Mapping() {
            if (data_ != nullptr) base::release_mapping(data_, size_);
        }

      private:
        std::byte* data_;
        size_t size_;
    };

    // To unpin takes the driver long: not in the loop's thread.
    void release() {
        if (data_ == nullptr) return;
        Mapping mapping(std::exchange(data_, nullptr), std::exchange(size_, 0));
        if (!pin_) return;
        struct Held {
            Mapping mapping;
            device::PinnedMemory pin;  // destroyed before the mapping
        };
        device::Device& gpu = pin_->device();
        (void)base::attempt([&] {
            gpu.release(std::make_shared<const Held>(Held{std::move(mapping), std::move(*pin_)}));
        });
        pin_.reset();
    }

    std::byte* data_ = nullptr;
    size_t size_ = 0;
    std::optional<device::PinnedMemory> pin_;
    Charge charge_;
};

}  // namespace pace::daemon
