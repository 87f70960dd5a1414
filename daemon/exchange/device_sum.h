// Sums among a node's members whose buffers are all on one GPU: a kernel there, in place, with nothing on the host. And what other
// exchanges need of the plug-in's kernels.
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

// Calls of the plug-in, without inputs yet, and outputs;
pace_device_sum sum_of(protocol::DType dtype, size_t count, double scale);
void add_input(pace_device_sum& sum, const void* input, double weight);
void add_output(pace_device_sum& sum, void* output);
pace_device_convert conversion(protocol::DType from, protocol::DType to, size_t count,
                               const void* in, void* out);
// of the members' elements of a segment, from the `first` one on, with their weights.
pace_device_sum sum_of(const std::vector<DeviceMember>& members,
                       const collectives::Segment& segment, size_t index, size_t first,
                       size_t count, double scale);

// What a kernel has returned.
base::Result<> check_kernel(const pace_device_plugin_table& kernels, const device::Device& device,
                            int failed, const char* what);

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
