// Allocation: memory of a device, counted against what the device has.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "tests/simulated_gpu/shared_file.h"

namespace pace::simulated_gpu {

// What cuMemCreate's sizes and addresses must be multiples of.
inline constexpr size_t kGranularity = size_t{2} << 20U;

class Allocation {
  public:
    // Null: the device has not so much left, as far as this process has taken it, or this machine has not.
    static std::shared_ptr<Allocation> create(int ordinal, size_t bytes, bool exportable);
    // Of another process, or of this one; counted where it was made.
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
    std::optional<int> counted_on_;  // the ordinal
    bool exportable_;
};

// What this process has not taken of a device.
size_t free_bytes(int ordinal);

}  // namespace pace::simulated_gpu
