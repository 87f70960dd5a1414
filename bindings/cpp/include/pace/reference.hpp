// reference: counted ownership of an object that several others keep alive, without exceptions.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace pace {
namespace detail {

// Base of what references own. A new object has no owner.
class counted {
  public:
    counted() = default;
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    virtual ~counted() = default;

    void keep() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
    // True for the last owner, who deletes the object.
    bool let_go() noexcept { return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  private:
    std::atomic<std::uint32_t> owners_{0};
};

// One owner of a T, which derives from counted. Threads: as std::shared_ptr: copies may be used at
// the same time, one object may not.
template <class T>
class reference {
  public:
    reference() noexcept = default;
    explicit reference(T* object) noexcept : object_(object) {
        if (object_ != nullptr) object_->keep();
    }
    reference(const reference& other) noexcept : reference(other.object_) {}
    reference(reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    // From a reference to a class that derives from T.
    template <class Derived>
    reference(const reference<Derived>& other) noexcept : reference(other.get()) {}
    reference& operator=(reference other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~reference() {
        if (object_ != nullptr && object_->let_go()) delete object_;
    }

    // Becomes an owner of `object`. This reference must own no object yet.
    void set(T* object) noexcept {
        object_ = object;
        if (object_ != nullptr) object_->keep();
    }

    T* get() const noexcept { return object_; }
    T* operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    T* object_ = nullptr;
};

}  // namespace detail
}  // namespace pace
