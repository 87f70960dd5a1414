// Block: memory whose size somebody else chooses. The allocation may fail. A large block is
// released by a background thread (release_thread.h), whichever thread drops the block.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/threads/release_thread.h"

namespace pace::base {

class Block {
  public:
    Block() = default;
    Block(Block&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Block& operator=(Block&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() {
        if (is_mapped(size_))
            release_mapping(data_, size_);
        else
            delete[] data_;
    }

    // The contents are undefined. The pages of a large block are not touched. Fails with
    // ErrorKind::memory; `what` names the purpose of the memory in the message.
    static Result<Block> make(size_t bytes, const char* what) {
        Block block;
        if (is_mapped(bytes)) {
            void* const address =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (address != MAP_FAILED) block.data_ = static_cast<std::byte*>(address);
        } else {
            block.data_ = new (std::nothrow) std::byte[std::max<size_t>(1, bytes)];
        }
        if (block.data_ == nullptr)
            return make_error(ErrorKind::memory, "no memory for the {} bytes of {}", bytes, what);
        block.size_ = bytes;
        return block;
    }

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    std::span<std::byte> bytes() const { return {data_, size_}; }

  private:
    // Only blocks above this size are mapped. Smaller blocks come from the allocator, which can
    // reuse their memory for the next block.
    static constexpr size_t kMappedBytes = size_t{4} << 20U;
    static bool is_mapped(size_t bytes) { return bytes > kMappedBytes; }

    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace pace::base
