// Sums among a node's members whose buffers are all on one GPU: a kernel there, in place, with nothing on the host.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"
#include "daemon/device/devices.h"
#include "daemon/exchange/device_lane.h"

namespace pace::daemon {

struct DeviceMember {
    std::shared_ptr<DeviceContents> contents;
    double weight = 1.0;
};

// Where a segment of it lies, for the kernels.
void* address_of(const DeviceMember& member, size_t segment);

// Why not all of it can be summed there; empty: it can.
std::string why_not_on_device(const std::vector<DeviceMember>& members,
                              const collectives::Layout& layout);

// Queues what lies in `from` as `layout` says into all members, which are on that device, after what the first one's lane has.
base::Result<> give_on_device(const std::vector<DeviceMember>& members,
                              const collectives::Layout& layout, const device::DeviceMemory& from);

// Queues scale * sum of weight * contents into all members, after what each member's lane has, and before what each
// lane gets next. What it fails with leaves the contents unknown: some may have been summed.
base::Result<> sum_on_device(const pace_device_plugin_table& kernels,
                             const std::vector<DeviceMember>& members,
                             const collectives::Layout& layout, double scale);

}  // namespace pace::daemon
