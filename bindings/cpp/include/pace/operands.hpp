// operands: what a verb works on: a buffer, a slice, or a list of them.
#pragma once

#include <pace/buffer.hpp>

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace pace {
namespace detail {

// The operands of a call that names more than one slice: the slices for pace.h, operands before
// results, and the memory of each.
class many_slices final : public counted {
  public:
    // Empty where this process has no memory left.
    static reference<many_slices> make(std::size_t count) noexcept {
        reference<many_slices> made(new (std::nothrow) many_slices);
        if (!made) return made;
        made->raw_.reset(new (std::nothrow) pace_slice[count + 1]);
        made->kept_.reset(new (std::nothrow) reference<memory>[count + 1]);
        return made->raw_ && made->kept_ ? made : reference<many_slices>();
    }

    void add(const pace_slice& raw, memory* its_memory) noexcept {
        raw_[count_] = raw;
        kept_[count_++] = reference<memory>(its_memory);
    }
    const pace_slice* raw() const noexcept { return raw_.get(); }

  private:
    std::size_t count_ = 0;
    std::unique_ptr<pace_slice[]> raw_;
    std::unique_ptr<reference<memory>[]> kept_;
};

}  // namespace detail

// A buffer, a slice, or several, which count as one vector in the order given:
// session.reduce({weights, bias.slice(0, 10)}). An object refers to the buffers and slices that it
// is made of, so use it only as an argument.
class operands {
  public:
    operands(const any_buffer& one) noexcept
        : one_{one.raw(), 0, PACE_REST}, memory_(one.memory_.get()) {}
    operands(const slice& one) noexcept : one_(one.raw()), memory_(one.memory_.get()) {}
    operands(std::initializer_list<slice> many) noexcept
        : many_(std::data(many)), count_(many.size()) {}
    operands(const std::vector<slice>& many) noexcept : many_(many.data()), count_(many.size()) {}
    operands(span<const slice> many) noexcept : many_(many.data()), count_(many.size()) {}

    // How many slices.
    std::size_t count() const noexcept { return count_; }
    // The slice, where there is no list; else null.
    const pace_slice* one() const noexcept {
        return many_ == nullptr && count_ == 1 ? &one_ : nullptr;
    }
    // That slice's memory.
    detail::memory* memory() const noexcept { return memory_; }

    // All slices and those of results. Empty where this process has no memory left.
    [[gnu::noinline]] detail::reference<detail::many_slices> gather(
        span<const slice> results) const noexcept {
        auto made = detail::many_slices::make(count_ + results.size());
        if (!made) return made;
        if (one() != nullptr) made->add(one_, memory_);
        for (std::size_t i = 0; i < count_ && many_ != nullptr; ++i)
            made->add(many_[i].raw(), many_[i].memory_.get());
        for (const slice& part : results) made->add(part.raw(), part.memory_.get());
        return made;
    }

  private:
    pace_slice one_ = {{0, 0, 0}, 0, 0};  // where there is no list
    detail::memory* memory_ = nullptr;    // that one's
    const slice* many_ = nullptr;
    std::size_t count_ = 1;
};

}  // namespace pace
