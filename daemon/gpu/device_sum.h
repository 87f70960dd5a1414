// Sums among a node's members whose buffers are all on one GPU: a kernel sums there, in place,
// without the host. Also helpers for other exchanges that call the plug-in's kernels.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/device/devices.h"
#include "daemon/gpu/device_lane.h"

namespace pace::daemon {

struct DeviceMember {
    std::shared_ptr<DeviceContents> contents;
    double weight = 1.0;
};

// The address of a segment of the member's contents, for kernels.
void* address_of(const DeviceMember& member, size_t segment);

// A call of the plug-in, without inputs and outputs yet.
pace_device_sum sum_of(protocol::DType dtype, size_t count, double scale);
void add_input(pace_device_sum& sum, const void* input, double weight);
void add_output(pace_device_sum& sum, void* output);
pace_device_convert conversion(protocol::DType from, protocol::DType to, size_t count,
                               const void* in, void* out);
// A call of the plug-in that sums the members' elements of a segment, from element `first` on, with
// the members' weights.
pace_device_sum sum_of(const std::vector<DeviceMember>& members,
                       const collectives::Segment& segment, size_t index, size_t first,
                       size_t count, double scale);

// A sum of one segment's buffers, without the weights, which are those of the inputs of all
// segments.
struct SegmentSum {
    protocol::DType dtype = protocol::DType::f32;
    size_t count = 0;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;  // empty: the inputs
};
std::vector<double> weights_of(const std::vector<DeviceMember>& members);
// The sums of the members' segments, in place.
std::vector<SegmentSum> segment_sums(const std::vector<DeviceMember>& members,
                                     const collectives::Layout& layout);
// Queues scale * sum of (weight * input) for each segment, neighbours of one type in one call of
// the plug-in: it sums many short segments by one kernel. All segments have the same number of
// inputs, and of outputs. Some may have been queued after an error. `what` is done, in a word.
base::Result<> queue_segment_sums(const pace_device_plugin_table& kernels, const DeviceLane& lane,
                                  const std::vector<double>& weights, double scale,
                                  const std::vector<SegmentSum>& segments, const char* what);

// The error that a kernel has returned, if any.
base::Result<> check_kernel(const pace_device_plugin_table& kernels, const device::Device& device,
                            int failed, const char* what);

// Why the members cannot all be summed on one device; empty if they can.
std::string why_not_on_device(const std::vector<DeviceMember>& members,
                              const collectives::Layout& layout);

// Queues copies of `from`, which is laid out as `layout` says, to all members, which are on the
// same device. The copies run on the first member's lane, after its earlier work, and before later
// work of all members' lanes, also after an error.
base::Result<> give_on_device(const std::vector<DeviceMember>& members,
                              const collectives::Layout& layout, const device::DeviceMemory& from);

// Queues scale * sum of (weight * contents) into all members: after all earlier work of the
// members' lanes, and before their later work, also after an error. The contents are unknown then:
// some may have been summed.
base::Result<> sum_on_device(const pace_device_plugin_table& kernels,
                             const std::vector<DeviceMember>& members,
                             const collectives::Layout& layout, double scale);

}  // namespace pace::daemon
