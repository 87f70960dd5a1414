// span: std::span where the language has it, else the part of it that this library needs.
#pragma once

#include <cstddef>

#if defined(__has_include) && __cplusplus >= 202002L
#if __has_include(<span>)
#include <span>
#endif
#endif

#if !defined(__cpp_lib_span)
#include <iterator>
#include <type_traits>
#include <utility>
#endif

namespace pace {

#if defined(__cpp_lib_span)

template <class T>
using span = std::span<T>;

#else

// `size` elements from `data` on, in memory that it does not own. Its layout is that of std::span,
// so that parts of a program in C++17 and in C++20 may be linked together.
template <class T>
class span {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr span() noexcept = default;
    constexpr span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

    // Everything with data() and size(): std::vector, std::array, another span.
    template <class Range,
              class = std::enable_if_t<
                  !std::is_same<std::decay_t<Range>, span>::value &&
                  std::is_convertible<decltype(std::data(std::declval<Range&>())), T*>::value> >
    constexpr span(Range&& range) noexcept : data_(std::data(range)), size_(std::size(range)) {}

    // As std::span's of the same names.
    constexpr T* data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T* begin() const noexcept { return data_; }
    constexpr T* end() const noexcept { return data_ + size_; }
    constexpr T& operator[](std::size_t index) const noexcept { return data_[index]; }
    constexpr T& front() const noexcept { return data_[0]; }
    constexpr T& back() const noexcept { return data_[size_ - 1]; }
    constexpr span first(std::size_t count) const noexcept { return {data_, count}; }
    constexpr span last(std::size_t count) const noexcept { return {data_ + size_ - count, count}; }
    constexpr span subspan(std::size_t first, std::size_t count) const noexcept {
        return {data_ + first, count};
    }
    constexpr span subspan(std::size_t first) const noexcept {
        return {data_ + first, size_ - first};
    }

  private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

#endif

}  // namespace pace
