// Allocation: memory of a device, counted against the device's size.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "tests/simulated_gpu/driver/state/shared_file.h"

namespace pace::simulated_gpu {

// The sizes and addresses of cuMemCreate must be multiples of this number.
inline constexpr size_t kGranularity = size_t{2} << 20U;

class Allocation {
  public:
    // Returns null if this process has taken so much of the device that too little is left, or if
    // this machine has too little memory.
    static std::shared_ptr<Allocation> create(int ordinal, size_t bytes, bool exportable);
    // Imports memory of another process, or of this one. The memory is counted where it was made.
    static std::shared_ptr<Allocation> import(SharedFile file);

    Allocation(SharedFile file, std::optional<int> counted_on, bool exportable);
    ~Allocation();
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

    const SharedFile& file() const { return file_; }
    size_t bytes() const { return file_.bytes(); }
    bool exportable() const { return exportable_; }

  private:
    SharedFile file_;
    std::optional<int> counted_on_;  // the ordinal of the device
    bool exportable_;
};

// Returns how much of a device this process has not taken.
size_t free_bytes(int ordinal);

}  // namespace pace::simulated_gpu
