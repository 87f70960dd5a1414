// Context: the primary context of a device, and which one is current in the calling thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tests/simulated_gpu/driver.h"

namespace pace::simulated_gpu {

class Stream;

bool is_device(int ordinal);
// The machine's number of a device of this process: what other processes mean by it.
int number_on_machine(int ordinal);

// One per device, for ever: only what is in it comes and goes.
class Context {
  public:
    explicit Context(int ordinal) : ordinal_(ordinal) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    int ordinal() const { return ordinal_; }
    CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
    bool is_active() const { return users_ > 0; }
    void retain();
    // False: nobody had retained it. With the last user all that is in it goes.
    bool release();
    // Null if no thread can be had.
    std::shared_ptr<Stream> null_stream();

  private:
    const int ordinal_;
    std::mutex mutex_;
    std::atomic<unsigned> users_{0};
    std::shared_ptr<Stream> null_stream_;
};

// The calling thread's context, or why none is usable.
struct Current {
    CUresult result = kInvalidContext;
    Context* context = nullptr;

    explicit operator bool() const { return result == kSuccess; }
};
Current current_context();

}  // namespace pace::simulated_gpu
