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

    // Maps a descriptor that came from another process. Refuses one that is not a memfd of at
    // least `bytes` with the seals above.
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
};

}  // namespace pace::base
