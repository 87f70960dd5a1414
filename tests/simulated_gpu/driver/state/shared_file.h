// SharedFile: memory that another process can open, by a descriptor that is handed over or by a
// ticket of 64 bytes.
//
// The name of the file holds its kind and the number of its device. The kernel tells the name of
// any descriptor. So a descriptor of something else is noticed. A ticket whose descriptor number
// has been used again is noticed, too.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/cuda/cuda_driver.h"
#include "base/unique_fd.h"

namespace pace::simulated_gpu {

// A ticket has the size of the driver's opaque handles for other processes, of memory and of
// events.
struct Ticket {
    uint32_t magic;
    pid_t process;   // has the descriptor open
    int descriptor;  // the descriptor in that process
    char name[52];   // ends with a zero
};
static_assert(sizeof(Ticket) == sizeof(base::cuda::CUipcMemHandle));
static_assert(sizeof(Ticket) == sizeof(base::cuda::CUipcEventHandle));
static_assert(std::is_trivially_copyable_v<Ticket>);

class SharedFile {
  public:
    enum class Kind { memory, event };

    // Creates zeroed memory. `device` is the machine's number of the device. Returns nothing if
    // there is no memory or no descriptor left.
    static std::optional<SharedFile> create(Kind kind, int device, size_t bytes);
    // Opens the file of a descriptor. The descriptor stays the caller's. Returns nothing if the
    // file is not of this kind.
    static std::optional<SharedFile> of_descriptor(Kind kind, int descriptor);
    // Returns nothing if the ticket is not of this kind, or its process has gone or closed the
    // file.
    static std::optional<SharedFile> of_ticket(Kind kind, const Ticket& ticket);

    int descriptor() const { return descriptor_.get(); }
    int device() const { return device_; }
    size_t bytes() const { return bytes_; }
    const std::string& name() const { return name_; }
    Ticket ticket() const;

  private:
    SharedFile() = default;
    static std::optional<SharedFile> identify(Kind kind, base::UniqueFd descriptor);

    base::UniqueFd descriptor_;
    std::string name_;
    int device_ = 0;
    size_t bytes_ = 0;
};

}  // namespace pace::simulated_gpu
