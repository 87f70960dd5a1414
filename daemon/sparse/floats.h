// Floats: a vector of zeros whose memory is not touched before it is used, so that making one of gigabytes takes no time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace pace::sparse {

class Floats {
  public:
    Floats() = default;
    // Throws std::bad_alloc.
    explicit Floats(size_t count)
        : data_(static_cast<float*>(std::calloc(count, sizeof(float)))), count_(count) {
        if (!data_ && count != 0) throw std::bad_alloc();
    }
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

  private:
    struct Free {
        void operator()(float* memory) const { std::free(memory); }
    };
    std::unique_ptr<float, Free> data_;
    size_t count_ = 0;
};

}  // namespace pace::sparse
