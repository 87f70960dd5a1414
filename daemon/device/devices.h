// Devices: the GPUs of this node, looked for when told, and opened when they are first used.
//
// That there is none is no fault: then `absence` says why, and all that needs none goes on. The driver is not touched before.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "daemon/device/device.h"
#include "daemon/device/plugin.h"

namespace pace::device {

struct DeviceOptions {
    bool off = false;
    std::string plugins;  // folder; empty: plugin_folder()
};

class Devices {
  public:
    Devices(base::EventLoop& loop, DeviceOptions options)
        : loop_(loop), options_(std::move(options)) {}

    // Looks what there is, once; find() does, too. May block for seconds.
    void look();

    // The device of this number, opened. Fails with `not_found` and the reason if there is none at all, or the numbers of those that
    // there are. May block for seconds, the first time.
    base::Result<Device*> find(const base::cuda::CUuuid& uuid);

    // The kernels, if there is a plug-in that works with the device. Fails with the reason why not.
    base::Result<const pace_device_plugin_table*> kernels(const Device& device);

    // For whoever asks, of what has been looked at.
    struct Summary {
        Facts facts;
        bool open = false;
        uint64_t free_bytes = 0;         // of one that is open
        std::vector<std::string> peers;  // devices that it reads and writes by itself
        // What is to be said of another daemon there; empty: none is known.
        std::string shared_with;
        std::string kernels;  // of one that is open: the plug-in, or why there is none
    };
    std::vector<Summary> list() const;
    // Why there is no device; empty: there is one.
    std::string absence() const { return looked_ ? absence_ : "nobody has asked for one yet"; }
    int driver_version() const {
        return driver_ == nullptr ? 0 : driver_->version;
    }  // 0: no driver

  private:
    struct Entry {
        Facts facts;
        std::unique_ptr<Device> device;
        base::UniqueFd claim;
        std::string shared_with;
        std::optional<base::Result<const pace_device_plugin_table*>> kernels;
    };

    base::Result<> open(Entry& entry);
    base::Result<const pace_device_plugin_table*> open_kernels(const Device& device);

    base::EventLoop& loop_;
    DeviceOptions options_;
    bool looked_ = false;
    const base::cuda::CudaDriver* driver_ = nullptr;
    std::string absence_;
    std::vector<Entry> entries_;
};

}  // namespace pace::device
