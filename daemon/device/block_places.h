// BlockPlaces: which bytes of a block of memory are taken. It owns numbers alone, no memory.
//
// The places are few, since each is a buffer that a user pays for. So they are looked through one
// after another. Threads: any.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

namespace pace::device {

// As the driver aligns an allocation of its own: whatever kernels and NCCL assume of one holds for
// a place, too.
inline constexpr size_t kPlaceAlignment = 256;

class BlockPlaces {
  public:
    explicit BlockPlaces(size_t bytes) : bytes_(bytes) {}

    // Takes the first gap of so many bytes, and returns its offset. Empty: there is none. Throws
    // std::bad_alloc.
    std::optional<size_t> take(size_t bytes);
    // Takes these bytes. False: some are taken, or are not in the block. Throws std::bad_alloc.
    bool take_at(size_t offset, size_t bytes);
    // The place that begins at the offset is free again.
    void give_back(size_t offset);

    size_t bytes() const { return bytes_; }

  private:
    using Places = std::map<size_t, size_t>;  // where a place begins, and where it ends

    const size_t bytes_;
    std::mutex mutex_;
    Places taken_;
};

}  // namespace pace::device
