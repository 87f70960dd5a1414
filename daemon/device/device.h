// Device: one GPU of this node, opened: its primary context, and what is queued there.
//
// All of it belongs to the loop's thread. Nothing here waits for the device: work is queued on streams, and what is to happen after it
// comes back to the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda_driver.h"
#include "base/event_loop.h"
#include "base/result.h"
#include "daemon/device/event_watch.h"

namespace pace::device {

// What the driver says of a device; it need not be opened for that.
struct Facts {
    int ordinal = 0;  // in this process
    base::cuda::CUuuid uuid{};
    std::string name;
    uint64_t bytes = 0;
    int capability_major = 0;
    int capability_minor = 0;
    bool exports_descriptors = false;  // of its memory; otherwise handles

    std::string id() const { return base::cuda::text_of(uuid); }
};

base::Result<Facts> facts_of(const base::cuda::CudaDriver& driver, int ordinal);

class Device {
  public:
    // Blocks while the driver makes the context, up to seconds.
    static base::Result<std::unique_ptr<Device>> open(const base::cuda::CudaDriver& driver,
                                                      Facts facts, base::EventLoop& loop);
    // Not from inside a callback of when_done(); callbacks that have not come do not come. Waits for nothing.
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const Facts& facts() const { return facts_; }
    const base::cuda::CudaDriver& driver() const { return driver_; }
    base::cuda::ContextScope enter() const { return {driver_, context_}; }

    base::Result<base::cuda::CUstream> create_stream();
    // What is queued there goes on.
    void destroy_stream(base::cuda::CUstream stream);

    // What is queued on `later` from now on waits for what is queued on `earlier` by now.
    base::Result<> follow(base::cuda::CUstream later, base::cuda::CUstream earlier);

    // Calls `callback` from the loop once all that is queued on the stream so far has ended, or the device has failed.
    void when_done(base::cuda::CUstream stream,
                   std::function<void(const base::Result<>&)> callback);

    // For events of other processes.
    EventWatch& event_watch() { return *event_watch_; }

    // Bytes that nobody has allocated, by whatever process.
    base::Result<uint64_t> free_bytes() const;

  private:
    Device(const base::cuda::CudaDriver& driver, Facts facts, base::EventLoop& loop);

    base::Result<base::cuda::CUevent> take_event();
    // An event behind what is queued on the stream by now.
    base::Result<base::cuda::CUevent> mark(base::cuda::CUstream stream);

    const base::cuda::CudaDriver& driver_;
    Facts facts_;
    base::EventLoop& loop_;
    base::cuda::CUcontext context_ = nullptr;
    std::vector<base::cuda::CUevent> events_;       // all that were made
    std::vector<base::cuda::CUevent> free_events_;  // of these
    std::unique_ptr<EventWatch> event_watch_;
    base::Scope scope_;
};

}  // namespace pace::device
