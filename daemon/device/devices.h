// Devices: the GPUs of this node, discovered and opened on request.
//
// A node without a GPU is no error: `absence` gives the reason, and everything that needs no GPU
// works. The driver is not touched before the discovery.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/event_loop.h"
#include "base/threads/background_thread.h"
#include "base/unique_fd.h"
#include "daemon/device/device.h"
#include "daemon/device/plugin.h"

namespace pace::device {

struct DeviceOptions {
    bool off = false;
    std::string plugins;  // folder; empty: plugin_folder()
    // Called when the context of a GPU has failed for good (Device::set_failed_handler()). Empty:
    // what needs the GPU fails from then on.
    std::function<void(const base::Error&)> failed{};
};

class Devices {
  public:
    Devices(base::EventLoop& loop, DeviceOptions options)
        : loop_(loop), options_(std::move(options)) {}

    // Discovers the devices, once; find() does so as well. May block for seconds.
    void look();
    // Opens all devices that are not closed by their mode, and logs those that cannot be opened.
    // May block for seconds. A daemon does this at its start, so that no trainer's first call stops
    // the loop.
    void open_all();

    // Returns the device with this UUID, opened. Errors: not_found, with the reason if there is no
    // GPU at all, else with the UUIDs of the existing ones; the driver's, if the device could not
    // be opened. Blocks for seconds where nobody has tried to open the device. Where that has
    // failed, it is tried again in another thread, and this and the following calls return the last
    // error until it succeeds.
    base::Result<Device*> find(const base::cuda::CUuuid& uuid);

    // Returns the kernels, if there is a plug-in that works with the device. The error says why
    // not.
    base::Result<const pace_device_plugin_table*> kernels(const Device& device) const;

    // Describes a discovered device, for reports.
    struct Summary {
        Facts facts;
        bool open = false;
        std::string refused;  // why it is not open, if that is known
        // Only of an open device: when the driver was last asked, some seconds ago.
        uint64_t free_bytes = 0;
        // Devices whose memory this one reads and writes directly.
        std::vector<std::string> peers;
        // Description of another daemon that uses the device; empty: none is known.
        std::string shared_with;
        // Only of an open device: the plug-in, or why there is none.
        std::string kernels;
    };
    // Does not wait for the driver.
    std::vector<Summary> list();
    // The same in short; the driver is not asked. `device` is null unless it is open, and lives as
    // long as this.
    struct Known {
        std::string name;
        uint64_t bytes = 0;
        const Device* device = nullptr;
    };
    std::vector<Known> known() const;
    // Why there is no device; empty: there is one.
    std::string absence() const { return looked_ ? absence_ : "nobody has asked for one yet"; }
    // 0: no driver.
    int driver_version() const { return driver_ == nullptr ? 0 : driver_->version; }

  private:
    using Kernels = base::Result<const pace_device_plugin_table*>;
    struct Entry {
        Facts facts;
        std::vector<std::string> peers;  // see Summary
        std::unique_ptr<Device> device;
        std::optional<base::Error> refused;  // why the last attempt to open the device failed
        bool is_opening = false;             // in the other thread
        base::UniqueFd claim;
        std::string shared_with;
        std::optional<Kernels> kernels;  // of an open device
    };
    // The part of opening a device that takes long. Threads: any.
    struct Opening {
        base::Result<PrimaryContext> context;
        Kernels kernels;
    };

    void open(Entry& entry);
    Opening begin_opening(const Facts& facts) const;
    void end_opening(Entry& entry, Opening opening);
    void open_again(Entry& entry);
    Kernels open_kernels(const Facts& facts) const;

    base::EventLoop& loop_;
    DeviceOptions options_;
    bool looked_ = false;
    const base::cuda::CudaDriver* driver_ = nullptr;
    std::string absence_;
    std::vector<Entry> entries_;  // all of them, once looked_
    base::Scope scope_;
    base::BackgroundThread opener_;
};

}  // namespace pace::device
