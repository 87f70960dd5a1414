// SharedFile: memory that another process can open, by a descriptor that it is handed or by a ticket of 64 bytes.
//
// What it is and whose device it belongs to is written in its name, which the kernel tells of any descriptor: so a descriptor of
// something else is noticed, and one whose number has been used again since the ticket was written, too.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/cuda_driver.h"
#include "base/unique_fd.h"

namespace pace::simulated_gpu {

// As the driver's opaque handles for other processes, of memory and of events.
struct Ticket {
    uint32_t magic;
    pid_t process;   // that has the descriptor open
    int descriptor;  // there
    char name[52];   // ends with a zero
};
static_assert(sizeof(Ticket) == sizeof(base::cuda::CUipcMemHandle));
static_assert(sizeof(Ticket) == sizeof(base::cuda::CUipcEventHandle));
static_assert(std::is_trivially_copyable_v<Ticket>);

class SharedFile {
  public:
    enum class Kind { memory, event };

    // Zeroed. `device` is the machine's number of the device. None: there is no memory or no descriptor left.
    static std::optional<SharedFile> create(Kind kind, int device, size_t bytes);
    // Of a descriptor, which stays the caller's; none if it is not of this kind.
    static std::optional<SharedFile> of_descriptor(Kind kind, int descriptor);
    // None if it is no ticket of this kind, or its process has gone or closed the file.
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
