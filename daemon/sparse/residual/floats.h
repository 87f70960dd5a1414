// Floats: a vector of zeros. Its memory is not touched before it is used, so making a vector of
// gigabytes takes no time. Freeing it takes no time either in a program with a release thread
// (base/threads/release_thread.h).
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/threads/release_thread.h"

namespace pace::sparse {

class Floats {
  public:
    Floats() = default;
    // Throws std::bad_alloc.
    explicit Floats(size_t count) : data_(obtain(count), Free{count}), count_(count) {}
    Floats(Floats&& other) noexcept
        : data_(std::move(other.data_)), count_(std::exchange(other.count_, 0)) {}
    Floats& operator=(Floats&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
        return *this;
    }
    Floats(const Floats& other) : Floats(other.count_) {
        std::copy_n(other.data(), count_, data());
    }
    Floats& operator=(const Floats& other) { return *this = Floats(other); }
    ~Floats() = default;

    float* data() const { return data_.get(); }
    size_t size() const { return count_; }
    std::span<float> span() const { return {data(), count_}; }
    // Shares the memory with a reader beside the owner. The reader may be the last to need the
    // memory.
    std::shared_ptr<const float> share() const { return data_; }

  private:
    static bool is_large(size_t count) {
        return count > base::ReleaseThread::kLittleBytes / sizeof(float);
    }
    static float* obtain(size_t count) {
        if (count == 0) return nullptr;
        if (count > SIZE_MAX / sizeof(float)) throw std::bad_alloc();
        void* memory = nullptr;
        if (is_large(count)) {
            memory = mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) memory = nullptr;
        } else {
            memory = std::calloc(count, sizeof(float));
        }
        if (memory == nullptr) throw std::bad_alloc();
        return static_cast<float*>(memory);
    }
    struct Free {
        size_t count = 0;
        void operator()(float* memory) const {
            if (memory == nullptr) return;
            if (is_large(count))
                base::release_mapping(reinterpret_cast<std::byte*>(memory), count * sizeof(float));
            else
                std::free(memory);
        }
    };
    std::shared_ptr<float> data_;
    size_t count_ = 0;
};

}  // namespace pace::sparse
