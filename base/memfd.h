// MappedMemfd: anonymous shared memory whose size is sealed, mapped into this process.
//
// The seals (no shrinking, no growing, no further seals) are what lets the daemon touch a mapping
// that a client also holds: a client that could shrink the file could kill the daemon with SIGBUS.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::base {

class MappedMemfd {
  public:
    MappedMemfd() = default;
    MappedMemfd(MappedMemfd&& other) noexcept;
    MappedMemfd& operator=(MappedMemfd&& other) noexcept;
    MappedMemfd(const MappedMemfd&) = delete;
    MappedMemfd& operator=(const MappedMemfd&) = delete;
    ~MappedMemfd();

    // New zeroed memory of `bytes` (rounded up to whole pages), sealed and mapped. `populate`
    // touches every page now, so that the first exchange does not pay for it; that also turns "too
    // little shared memory" into an error here rather than a SIGBUS later.
    static Result<MappedMemfd> create(const char* name, size_t bytes, bool populate);

    // Touches the next `bytes` bytes of it. ErrorKind::memory. The kernel finds some gigabytes in a second, and meanwhile no other
    // thread can map anything: whoever must not hold others up asks for a piece at a time.
    Result<> populate(size_t bytes);
    bool is_populated() const { return populated_ >= size_; }
    static constexpr size_t kPieceBytes = size_t{16} << 20U;

    // Maps a descriptor that came from another process: a memfd of `bytes`, rounded up to whole
    // pages, in the kernel's own tmpfs, with the seals above. Errors: invalid, for any other.
    static Result<MappedMemfd> adopt(UniqueFd fd, size_t bytes);

    int fd() const { return fd_.get(); }
    size_t size() const { return size_; }
    bool valid() const { return data_ != nullptr; }
    std::byte* data() const { return data_; }
    std::span<std::byte> bytes() const { return {data_, size_}; }

  private:
    void unmap();

    UniqueFd fd_;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
    size_t populated_ = 0;  // of the memory that was made here, from its begin on
};

}  // namespace pace::base
