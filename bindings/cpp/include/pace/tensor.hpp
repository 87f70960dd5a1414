// tensor: a buffer as a tensor of DLPack, which holds the memory by itself.
#pragma once

#include <pace/element.hpp>
#include <pace/span.hpp>

#include <utility>

namespace pace {
namespace detail {

// The layouts of dlpack.h, version 1.0, as far as a tensor of one dimension needs them.
struct dl_tensor {
    void* data;
    pace_device device;
    std::int32_t dimensions;
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};
struct dl_managed_tensor {
    dl_tensor tensor;
    void* context;
    void (*deleter)(dl_managed_tensor*);
};
struct dl_managed_tensor_versioned {
    std::uint32_t major;
    std::uint32_t minor;
    void* context;
    void (*deleter)(dl_managed_tensor_versioned*);
    std::uint64_t flags;
    dl_tensor tensor;
};

}  // namespace detail

// Owns a DLManagedTensor (major 0) or a DLManagedTensorVersioned (major 1 or more) of one
// dimension. The memory stays, with its contents, after the buffer and the session are gone. The
// trainer keeps memory of its own. The memory must not be touched while a request that names the
// buffer is in flight. Threads: any, one at a time.
class tensor {
  public:
    tensor() noexcept = default;
    tensor(void* managed, std::uint32_t major) noexcept : managed_(managed), major_(major) {}
    tensor(tensor&& other) noexcept
        : managed_(std::exchange(other.managed_, nullptr)), major_(other.major_) {}
    tensor& operator=(tensor&& other) noexcept {
        if (this != &other) {
            end();
            managed_ = std::exchange(other.managed_, nullptr);
            major_ = other.major_;
        }
        return *this;
    }
    ~tensor() { end(); }

    // Whether there is a tensor: not before one is assigned, after a move, or after release().
    explicit operator bool() const noexcept { return managed_ != nullptr; }
    // The major version of DLPack that the tensor is laid out for.
    std::uint32_t major() const noexcept { return major_; }

    // The managed tensor, which stays this object's.
    void* get() const noexcept { return managed_; }
    // The managed tensor, which is the caller's from now on: a consumer ends it with its deleter.
    void* release() noexcept { return std::exchange(managed_, nullptr); }

    // What the tensor says of itself: where its elements begin, how many there are, on which
    // device. The tensor must not be empty.
    void* data() const noexcept {
        return static_cast<unsigned char*>(inner().data) + inner().byte_offset;
    }
    std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(inner().shape[0]); }
    pace::device device() const noexcept { return {inner().device.type, inner().device.id}; }
    // The type of its elements: DLPack's code (1: kDLUInt, 2: kDLFloat, 4: kDLBfloat) and the bits
    // of one. As data().
    std::uint8_t code() const noexcept { return inner().code; }
    std::uint8_t bits() const noexcept { return inner().bits; }

    // The elements, where T has their size and the memory is the host's; else none.
    template <class T>
    span<T> elements() const noexcept {
        if (managed_ == nullptr || bits() != 8 * sizeof(T) || !device().is_host()) return {};
        return {static_cast<T*>(data()), static_cast<std::size_t>(size())};
    }

  private:
    const detail::dl_tensor& inner() const noexcept {
        if (major_ == 0) return static_cast<detail::dl_managed_tensor*>(managed_)->tensor;
        return static_cast<detail::dl_managed_tensor_versioned*>(managed_)->tensor;
    }
    template <class Managed>
    static void end(Managed* managed) noexcept {
        if (managed->deleter != nullptr) managed->deleter(managed);
    }
    void end() noexcept {
        if (managed_ == nullptr) return;
        if (major_ == 0)
            end(static_cast<detail::dl_managed_tensor*>(managed_));
        else
            end(static_cast<detail::dl_managed_tensor_versioned*>(managed_));
        managed_ = nullptr;
    }

    void* managed_ = nullptr;
    std::uint32_t major_ = 0;
};

}  // namespace pace
