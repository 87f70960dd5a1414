// LargeVector: a std::vector for as many elements as a model has. New elements have no value until
// somebody writes one, since clearing a gigabyte takes a tenth of a second or more. A large vector
// is mapped by the kernel, and its pages are not touched before they are used. A background thread
// releases a large vector (release_thread.h), whichever thread drops it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/threads/release_thread.h"

namespace pace::base {

template <typename Element>
class LargeAllocator {
  public:
    static_assert(std::is_trivial_v<Element>, "an element without a value must do no harm");
    using value_type = Element;

    // Smaller vectors come from the heap, which can reuse their memory for the next exchange.
    // Releasing memory of this size takes a millisecond or two.
    static constexpr size_t kLargeBytes = size_t{16} << 20U;

    LargeAllocator() = default;
    template <typename Other>
    LargeAllocator(const LargeAllocator<Other>&) noexcept {}

    Element* allocate(size_t count) {
        if (count > SIZE_MAX / sizeof(Element)) throw std::bad_alloc();
        const size_t bytes = count * sizeof(Element);
        if (bytes < kLargeBytes) return std::allocator<Element>().allocate(count);
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return static_cast<Element*>(memory);
    }
    void deallocate(Element* memory, size_t count) noexcept {
        const size_t bytes = count * sizeof(Element);
        if (bytes < kLargeBytes)
            std::allocator<Element>().deallocate(memory, count);
        else
            release_mapping(reinterpret_cast<std::byte*>(memory), bytes);
    }
    // resize() and similar functions call this: the element gets no value.
    void construct(Element* element) noexcept { ::new (static_cast<void*>(element)) Element; }
    template <typename... Arguments>
    void construct(Element* element, Arguments&&... arguments) {
        ::new (static_cast<void*>(element)) Element(std::forward<Arguments>(arguments)...);
    }

    template <typename Other>
    bool operator==(const LargeAllocator<Other>&) const {
        return true;
    }
};

template <typename Element>
using LargeVector = std::vector<Element, LargeAllocator<Element>>;

}  // namespace pace::base
