// ReleaseThread: gives mappings back to the kernel, which takes it as long as it took to find the memory: a tenth of a second and more for
// a gigabyte, whether that is one mapping or a thousand that all go at once. Whoever must not stand still lets go of memory by
// release_mapping(), in any thread.
//
// A program that has such a thread makes it before the memory and ends it after. Without one, release_mapping() does the work itself.
// released() is the same for objects that have much memory.
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
    // Ends when all that was handed over is given back.
    ~ReleaseThread();
    ReleaseThread(const ReleaseThread&) = delete;
    ReleaseThread& operator=(const ReleaseThread&) = delete;

    // Less private memory is given back at once, which takes some microseconds. Handing it over takes about one.
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

    // To the youngest. False: there is none, or no memory to hand it over.
    static bool hand_over(Mapping mapping);
    bool take(Mapping& mapping);
    void work_off();

    std::mutex mutex_;
    Condition changed_;
    std::deque<Mapping> waiting_;
    bool stopping_ = false;
    std::thread thread_;  // begins with the first mapping
};

// Unmaps `bytes` bytes from `data` on. In the youngest of this program's release threads if it is much and there is such a thread, else
// before it returns.
void release_mapping(std::byte* data, size_t bytes);

// The same of shared memory, however little: a file goes with it. Its descriptor is closed at once, so that another can be opened in its
// place; what that costs is left to the mapping.
void release_shared(std::byte* data, size_t bytes, UniqueFd fd);

// The same of an object that has about `bytes` bytes of memory, and that nobody else has: its destructor may run in another thread.
void release_object(std::shared_ptr<const void> object, size_t bytes);

// `value`, shared by whoever copies what is returned; the last one to let go of it does not wait for its `bytes` bytes to be given back.
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
