// MappedMemfd: anonymous shared memory whose size is sealed, mapped into this process.
//
// The seals forbid shrinking, growing and further seals. They let the daemon safely touch a mapping
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

    // Makes new zeroed memory of `bytes` bytes (rounded up to whole pages), sealed and mapped. With
    // `populate` every page is touched now. Then the first exchange does not pay for that, and a
    // lack of shared memory is an error here instead of a SIGBUS later.
    static Result<MappedMemfd> create(const char* name, size_t bytes, bool populate);

    // Touches the next `bytes` bytes of the memory. Fails with ErrorKind::memory. The kernel finds
    // some gigabytes in a second, and no other thread can map memory meanwhile. Callers that must
    // not delay other threads therefore ask for one piece (kPieceBytes) at a time.
    Result<> populate(size_t bytes);
    bool is_populated() const { return populated_ >= size_; }
    size_t populated() const { return populated_; }
    static constexpr size_t kPieceBytes = size_t{16} << 20U;

    // Maps a descriptor that came from another process. The descriptor must be a memfd of `bytes`
    // bytes (rounded up to whole pages) in the kernel's own tmpfs, with the seals above. Fails with
    // ErrorKind::invalid for any other descriptor.
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
    // How many bytes were touched, from the begin of the memory. Adopted memory is not counted.
    size_t populated_ = 0;
};

}  // namespace pace::base
