// ReleaseThread: gives mappings back to the kernel. That takes as long as it took to find the
// memory: a tenth of a second or more for a gigabyte. One mapping of that size and a thousand
// mappings that are released at once take equally long. Threads that must not stand still release
// memory by release_mapping(). Any thread may call it.
//
// A program that has such a thread makes the thread before the memory, and ends the thread after
// the memory. In a program without such a thread release_mapping() does the work itself. released()
// does the same for objects that have much memory.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/condition.h"
#include "base/unique_fd.h"

namespace pace::base {

class ReleaseThread {
  public:
    ReleaseThread();
    // Returns when everything that was handed over is released.
    ~ReleaseThread();
    ReleaseThread(const ReleaseThread&) = delete;
    ReleaseThread& operator=(const ReleaseThread&) = delete;

    // Smaller private memory is released at once, which takes some microseconds. A handover takes
    // about one microsecond.
    static constexpr size_t kLittleBytes = size_t{64} << 10U;

  private:
    friend void release_mapping(std::byte* data, size_t bytes);
    friend void release_shared(std::byte* data, size_t bytes, UniqueFd fd);
    friend void release_object(std::shared_ptr<const void> object, size_t bytes);
    struct Mapping {
        std::byte* data = nullptr;
        size_t bytes = 0;
        std::shared_ptr<const void> object;
    };

    // Hands the mapping to the youngest release thread. Returns false if there is no release
    // thread, or no memory for the handover.
    static bool hand_over(Mapping mapping);
    bool take(Mapping& mapping);
    void work_off();

    std::mutex mutex_;
    Condition changed_;
    std::deque<Mapping> waiting_;
    bool stopping_ = false;
    std::thread thread_;  // begins with the first mapping
};

// Unmaps `bytes` bytes from `data` on. If the mapping is large and the program has a release
// thread, the youngest release thread unmaps it. Otherwise the call unmaps it before it returns.
void release_mapping(std::byte* data, size_t bytes);

// Does the same for shared memory of any size, since a file is released with the memory. The
// descriptor is closed at once, so that another one can be opened in its place. The cost of
// releasing the file stays with the mapping.
void release_shared(std::byte* data, size_t bytes, UniqueFd fd);

// Does the same for an object that has about `bytes` bytes of memory. The caller must be the only
// owner. The destructor may run in another thread.
void release_object(std::shared_ptr<const void> object, size_t bytes);

// Moves `value` into a shared pointer. The last owner does not wait until the object's `bytes`
// bytes are released.
template <typename Object>
std::shared_ptr<Object> released(Object value, size_t bytes) {
    struct Owner {
        ~Owner() { release_object(std::move(object), bytes); }
        std::shared_ptr<Object> object;
        size_t bytes;
    };
    auto object = std::make_shared<Object>(std::move(value));
    Object* const address = object.get();
    return {std::make_shared<const Owner>(std::move(object), bytes), address};
}

}  // namespace pace::base
