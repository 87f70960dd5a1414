// ReleaseThread: gives large mappings back to the kernel, which takes it as long as it took to find the memory: a tenth of a second
// and more for a gigabyte. Whoever must not stand still lets go of memory by release_mapping(), in any thread.
//
// A program that has such a thread makes it before the memory and ends it after. Without one, release_mapping() does the work itself.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>

#include "base/condition.h"
#include "base/unique_fd.h"

namespace pace::base {

class ReleaseThread {
  public:
    ReleaseThread();
    // Ends when all that was handed over is given back.
    ~ReleaseThread();
    ReleaseThread(const ReleaseThread&) = delete;
    ReleaseThread& operator=(const ReleaseThread&) = delete;

    // Less is given back at once, which takes some milliseconds at most.
    static constexpr size_t kLittleBytes = size_t{4} << 20U;

  private:
    friend void release_mapping(std::byte* data, size_t bytes, UniqueFd fd);
    struct Mapping {
        std::byte* data = nullptr;
        size_t bytes = 0;
        UniqueFd fd;
    };

    void take(Mapping mapping);
    void work_off();

    std::mutex mutex_;
    Condition changed_;
    std::deque<Mapping> waiting_;
    bool stopping_ = false;
    std::thread thread_;  // begins with the first mapping
};

// Unmaps `bytes` bytes from `data` on (null: nothing is mapped) and closes the file behind them, if there is one. In the youngest of
// this program's release threads if it is much and there is such a thread, else before it returns.
void release_mapping(std::byte* data, size_t bytes, UniqueFd fd = UniqueFd());

}  // namespace pace::base
