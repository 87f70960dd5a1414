// buffer: memory that this process and the daemon share, and slices of it.
#pragma once

#include <pace/membership.hpp>
#include <pace/result.hpp>
#include <pace/span.hpp>
#include <pace/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pace {

class session;
class operands;
class slice;

namespace detail {

// A pace_buffer, kept by its buffer object, by slices, and by requests that name it.
struct memory final : counted {
    memory(reference<membership> its_session, element its_type, std::uint64_t its_count,
           bool its_is_host) noexcept
        : session(std::move(its_session)), type(its_type), count(its_count), is_host(its_is_host) {}
    ~memory() override {
        if (raw_of(session) != nullptr) pace_buffer_free(session->raw(), raw, nullptr);
    }

    reference<membership> session;
    pace_buffer raw = {0, 0, 0};
    void* data = nullptr;
    element type;
    std::uint64_t count;
    bool is_host;
};

}  // namespace detail

// A buffer whose type of elements is known at run time. Made by a session; move-only.
//
// The buffer, slices of it and requests that name it own the memory together. The last of them
// gives the memory back to the daemon, which blocks for one exchange with the daemon. Memory of the
// trainer's own (session::import_memory) must stay until then. Elements may be read and written
// freely, except while a request that names them is in flight. A const buffer is one that is not
// moved or freed; its elements are not const, as those of std::unique_ptr<T[]>. Threads: any; one
// object by one thread at a time, apart from const members.
class any_buffer {
  public:
    any_buffer() noexcept = default;

    // Whether there is a buffer: not before one is assigned, after a move, or after free().
    explicit operator bool() const noexcept { return memory_ && memory_->data != nullptr; }

    // The type of the elements and how many there are.
    element type() const noexcept { return memory_ ? memory_->type : element::f32; }
    std::size_t size() const noexcept {
        return memory_ ? static_cast<std::size_t>(memory_->count) : 0;
    }

    // The first element's address, on a GPU a device pointer; null once the buffer or its session
    // is freed.
    void* data() const noexcept { return session() != nullptr ? memory_->data : nullptr; }

    // The elements, of type T. The span is empty if they are of another type, on a GPU, or freed.
    template <class T>
    span<T> elements() const noexcept {
        if (data() == nullptr || memory_->type != element_of<T> || !memory_->is_host) return {};
        return {static_cast<T*>(memory_->data), size()};
    }

    // `count` elements from `first` on; by default to the end. Keeps the memory. Verbs check the
    // bounds.
    pace::slice slice(std::uint64_t first, std::uint64_t count = PACE_REST) const noexcept;

    // The buffer's description by libpace. Blocks: no. Fails with: handle, invalid.
    result<buffer_info> info(nothrow_t) const noexcept {
        buffer_info told;
        pace_error error;
        if (pace_buffer_get_info(session(), raw(), &told, &error) != PACE_OK) return failure(error);
        return told;
    }

    // The buffer as a tensor of DLPack, `major` 0 or 1, as the consumer reads it. Blocks: no. Fails
    // with: handle, unsupported (a GPU that exports no descriptors of its memory).
    result<pace::tensor> to_dlpack(nothrow_t, std::uint32_t major = 0) const noexcept {
        void* managed = nullptr;
        pace_error error;
        if (pace_buffer_to_dlpack(session(), raw(), major, &managed, &error) != PACE_OK)
            return failure(error);
        return pace::tensor(managed, major);
    }

    // Gives the memory back now, even if slices or requests still own it; tensors of it stay good.
    // Blocks: for one exchange with the daemon. Fails with: invalid, while a request that is in
    // flight names it.
    result<void> free(nothrow_t) noexcept { return give_back(pace_buffer_free); }

    // As free(), but does not wait: this object has no buffer at once. Its memory is freed by the
    // next call of the session that makes or frees a buffer, after the requests that name it.
    // Memory of the trainer's own must stay until these requests are collected; on a GPU, until the
    // buffer is freed. Blocks: no.
    result<void> release(nothrow_t) noexcept { return give_back(pace_buffer_release); }

#if defined(__cpp_exceptions)
    buffer_info info() const { return info(nothrow).value(); }
    pace::tensor to_dlpack(std::uint32_t major = 0) const {
        return to_dlpack(nothrow, major).value();
    }
    void free() { free(nothrow).value(); }
    void release() { release(nothrow).value(); }
#endif

    // The handle of pace.h.
    pace_buffer raw() const noexcept { return memory_ ? memory_->raw : pace_buffer{0, 0, 0}; }

    any_buffer(any_buffer&&) noexcept = default;
    any_buffer& operator=(any_buffer&&) noexcept = default;
    any_buffer(const any_buffer&) = delete;
    any_buffer& operator=(const any_buffer&) = delete;
    ~any_buffer() = default;

  private:
    result<void> give_back(pace_status (*by)(pace_session*, pace_buffer, pace_error*)) noexcept {
        pace_error error;
        if (by(session(), raw(), &error) != PACE_OK) return failure(error);
        if (memory_) {
            memory_->raw = pace_buffer{0, 0, 0};
            memory_->data = nullptr;
        }
        return {};
    }

    friend class pace::slice;
    friend class pace::operands;
    friend class pace::session;
    explicit any_buffer(detail::reference<detail::memory> memory) noexcept
        : memory_(std::move(memory)) {}
    pace_session* session() const noexcept {
        return memory_ ? detail::raw_of(memory_->session) : nullptr;
    }

    detail::reference<detail::memory> memory_;
};

// A buffer of T: float, double, pace::f16, pace::bf16 or std::uint32_t. As any_buffer.
template <class T>
class buffer : public any_buffer {
  public:
    using value_type = T;

    buffer() noexcept = default;

    // The first element's address, as any_buffer's.
    T* data() const noexcept { return static_cast<T*>(any_buffer::data()); }
    // The elements. The span is empty on a GPU, where data() is a device pointer, and once freed.
    span<T> elements() const noexcept { return any_buffer::elements<T>(); }
    // The ends of elements().
    T* begin() const noexcept { return elements().data(); }
    T* end() const noexcept { return begin() + elements().size(); }

  private:
    friend class session;
    explicit buffer(any_buffer&& untyped) noexcept : any_buffer(std::move(untyped)) {}
};

// Elements of a buffer, for verbs. Keeps the memory of its buffer.
class slice {
  public:
    slice(const any_buffer& whole) noexcept : slice(whole.memory_, 0, PACE_REST) {}

    // The first element, counted in the buffer.
    std::uint64_t first() const noexcept { return first_; }
    // How many elements. PACE_REST: to the buffer's end.
    std::uint64_t count() const noexcept { return count_; }

    // The slice of pace.h.
    pace_slice raw() const noexcept {
        return {memory_ ? memory_->raw : pace_buffer{0, 0, 0}, first_, count_};
    }

  private:
    friend class any_buffer;
    friend class operands;
    slice(detail::reference<detail::memory> memory, std::uint64_t first,
          std::uint64_t count) noexcept
        : memory_(std::move(memory)), first_(first), count_(count) {}

    detail::reference<detail::memory> memory_;
    std::uint64_t first_;
    std::uint64_t count_;
};

inline slice any_buffer::slice(std::uint64_t first, std::uint64_t count) const noexcept {
    return {memory_, first, count};
}

}  // namespace pace
