// Device: one opened GPU of this node: its primary context, and the work queued on it.
//
// Used only in the loop's thread, except where a function says otherwise. Nothing here waits for
// the device: work is queued on streams, and the loop is called when the work has ended. What the
// driver may take long for, such as giving memory back, is done in a thread of the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/loop/event_loop.h"
#include "base/result.h"
#include "base/threads/background_thread.h"
#include "daemon/device/event_watch.h"
#include "daemon/device/primary_context.h"

namespace pace::device {

// A device's properties as the driver reports them, even if the device is not open.
struct Facts {
    int ordinal = 0;             // in this process
    base::cuda::CUuuid uuid{};   // of the instance, if the GPU is divided (MIG)
    base::cuda::CUuuid board{};  // of the whole GPU (device/board.h)
    std::string name;
    uint64_t bytes = 0;
    int capability_major = 0;
    int capability_minor = 0;
    bool exports_descriptors = false;  // memory is exported by descriptors, otherwise by handles
    bool has_stream_words = false;  // streams write words of the host's memory, and wait for them
    // Why its compute mode keeps this daemon and its trainers from sharing the device; empty: it
    // does not.
    std::string closed_by_mode;

    std::string id() const { return base::cuda::text_of(uuid); }
};

base::Result<Facts> facts_of(const base::cuda::CudaDriver& driver, int ordinal);

class Device {
  public:
    static base::Result<std::unique_ptr<Device>> open(const base::cuda::CudaDriver& driver,
                                                      Facts facts, PrimaryContext context,
                                                      base::EventLoop& loop);
    // Must not be called in a callback of when_done(). Pending callbacks are dropped. Waits for
    // what release() was given.
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const Facts& facts() const { return facts_; }
    const base::cuda::CudaDriver& driver() const { return driver_; }
    // Threads: any.
    base::cuda::ContextScope enter() const { return context_.enter(); }

    base::Result<base::cuda::CUstream> create_stream();
    // Work queued on the stream goes on.
    void destroy_stream(base::cuda::CUstream stream);

    // Makes later work on `later` wait for all work queued so far on `earlier`.
    base::Result<> follow(base::cuda::CUstream later, base::cuda::CUstream earlier);

    // Calls `callback` from the loop once all work queued on the stream so far has ended, or the
    // device has failed. If the driver cannot mark the place, it is called with that error once all
    // work of the device has ended.
    void when_done(base::cuda::CUstream stream,
                   std::function<void(const base::Result<>&)> callback);

    // Watches events of other processes.
    EventWatch& event_watch() { return *event_watch_; }

    // `failed` is called, once, when the context has failed for good: nothing that is queued ends
    // any more, and only another process can open the device again.
    void set_failed_handler(std::function<void(const base::Error&)> failed) {
        failed_ = std::move(failed);
    }
    // As the driver's check(), for calls of the loop's thread: also looks whether the context has
    // failed. The result alone does not tell, since an event of another process may tell of that
    // process's failure.
    base::Result<> check(base::cuda::CUresult result, std::string_view what);

    // Destroys what holds memory of the device, or memory pinned for it, in the device's thread,
    // one after another: the driver takes as long for gigabytes as it took to find them. The caller
    // must be the only owner. Threads: any. Throws std::bad_alloc; then `held` is destroyed at
    // once.
    void release(std::shared_ptr<const void> held);
    // Waits until all that release() was given so far is destroyed. Threads: any but the loop's.
    void await_released();

    // Free bytes of the device's memory; all processes' allocations count as used. Threads: any.
    // Blocks while another thread has the driver find or give back memory.
    base::Result<uint64_t> free_bytes() const;
    // The last answer to free_bytes(), 0 if there is none. Has the device's thread ask again.
    uint64_t free_bytes_lately();

  private:
    Device(const base::cuda::CudaDriver& driver, Facts facts, PrimaryContext context,
           base::EventLoop& loop);

    void examine(base::cuda::CUresult result);
    void when_all_done(const base::Error& error,
                       std::function<void(const base::Result<>&)> callback);
    base::cuda::CUresult probe();
    base::Result<base::cuda::CUevent> take_event();
    // Records an event behind the work queued on the stream so far.
    base::Result<base::cuda::CUevent> mark(base::cuda::CUstream stream);

    const base::cuda::CudaDriver& driver_;
    Facts facts_;
    base::EventLoop& loop_;
    PrimaryContext context_;
    std::unique_ptr<base::BackgroundThread> releaser_ = std::make_unique<base::BackgroundThread>();
    std::vector<base::cuda::CUevent> events_;       // all that were made
    std::vector<base::cuda::CUevent> free_events_;  // subset of events_ not in use
    std::unique_ptr<EventWatch> event_watch_;
    std::function<void(const base::Error&)> failed_;  // empty: told, or nobody wants to know
    mutable std::atomic<uint64_t> free_lately_{0};
    std::atomic<bool> asks_free_{false};
    base::Scope scope_;
};

}  // namespace pace::device
