// Context: the primary context of a device. This file also tells which context is current in the
// calling thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tests/simulated_gpu/driver/state/driver.h"

namespace pace::simulated_gpu {

class Stream;

bool is_device(int ordinal);
// Returns the machine's number of a device of this process. Other processes use this number.
int number_on_machine(int ordinal);

// There is one Context per device for the whole process. Only its content comes and goes.
class Context {
  public:
    explicit Context(int ordinal) : ordinal_(ordinal) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    int ordinal() const { return ordinal_; }
    CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
    bool is_active() const { return users_ > 0; }
    void retain();
    // Returns false if nobody had retained the context. The last release frees everything in the
    // context.
    bool release();
    // Returns null if no thread can be started.
    std::shared_ptr<Stream> null_stream();

  private:
    const int ordinal_;
    std::mutex mutex_;
    std::atomic<unsigned> users_{0};
    std::shared_ptr<Stream> null_stream_;
};

// The calling thread's context, or the reason why none is usable.
struct Current {
    CUresult result = kInvalidContext;
    Context* context = nullptr;

    explicit operator bool() const { return result == kSuccess; }
};
Current current_context();

}  // namespace pace::simulated_gpu
