#include "daemon/gpu/device_sum.h"

#include <algorithm>
#include <span>

namespace pace::daemon {

using base::ErrorKind;
using base::make_error;
using base::Result;

std::string why_not_on_device(const std::vector<DeviceMember>& members,
                              const collectives::Layout& layout) {
    if (members.empty()) return "nobody takes part";
    if (members.size() > PACE_DEVICE_MEMBERS_MAX)
        return fmt::format("{} members are more than a kernel takes", members.size());
    const device::Device* const device = &members.front().contents->lane->device();
    for (const DeviceMember& member : members) {
        if (&member.contents->lane->device() != device) return "members are on several GPUs";
        if (member.contents->on_host) return "a member's buffers are on the host already";
    }
    for (const collectives::Segment& segment : layout.segments())
        if (segment.dtype == protocol::DType::u32) return "indices are not summed";
    return "";
}

void* address_of(const DeviceMember& member, size_t segment) {
    const auto address = member.contents->buffers[segment]->on_device->memory.address();
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

pace_device_sum sum_of(protocol::DType dtype, size_t count, double scale) {
    pace_device_sum sum{};
    sum.dtype = static_cast<pace_device_dtype>(dtype);
    sum.count = count;
    sum.scale = scale;
    return sum;
}

void add_input(pace_device_sum& sum, const void* input, double weight) {
    sum.weights[sum.input_count] = weight;
    sum.inputs[sum.input_count++] = input;
}

void add_output(pace_device_sum& sum, void* output) {
    sum.outputs[sum.output_count++] = output;
}

pace_device_convert conversion(protocol::DType from, protocol::DType to, size_t count,
                               const void* in, void* out) {
    return {static_cast<pace_device_dtype>(from), static_cast<pace_device_dtype>(to), count, in,
            out};
}

pace_device_sum sum_of(const std::vector<DeviceMember>& members,
                       const collectives::Segment& segment, size_t index, size_t first,
                       size_t count, double scale) {
    pace_device_sum sum = sum_of(segment.dtype, count, scale);
    const size_t offset = first * protocol::size_of(segment.dtype);
    for (const DeviceMember& member : members)
        add_input(sum, static_cast<const std::byte*>(address_of(member, index)) + offset,
                  member.weight);
    return sum;
}

Result<> check_kernel(const pace_device_plugin_table& kernels, const device::Device& device,
                      int failed, const char* what) {
    if (failed == 0) return {};
    return make_error(ErrorKind::unavailable, "{} on {}: {}", what, device.facts().id(),
                      kernels.error_text(failed));
}

namespace {

// The other members' later work runs after what the first member's lane has so far, also when not
// all could be queued there: what was queued still writes to their buffers. A member whose lane
// cannot follow keeps its buffers until that work has ended. Returns `queued`, or what failed here.
Result<> order_after(const DeviceLane& lane, const std::vector<DeviceMember>& members,
                     const Result<>& queued) {
    Result<> all = queued;
    for (size_t i = 1; i < members.size(); ++i) {
        const DeviceContents& contents = *members[i].contents;
        const auto followed = contents.lane->follow(lane);
        if (followed) continue;
        if (all) all = followed;
        lane.when_done(contents.buffers, [](const Result<>&) {});
    }
    if (!all) return all;
    for (const DeviceMember& member : members) member.contents->made = true;
    return {};
}

Result<> queue_copies(const DeviceLane& lane, const std::vector<DeviceMember>& members,
                      const collectives::Layout& layout, const device::DeviceMemory& from) {
    for (const DeviceMember& member : members)
        PACE_TRY(lane.copy_on_device(member.contents->buffers, layout, from.address()));
    return {};
}

Result<> queue_sums(const DeviceLane& lane, const pace_device_plugin_table& kernels,
                    const std::vector<DeviceMember>& members, const collectives::Layout& layout,
                    double scale) {
    return queue_segment_sums(kernels, lane, weights_of(members), scale,
                              segment_sums(members, layout), "sum");
}

// The segments' counts and addresses, one after the other, as the plug-in reads them.
class Run {
  public:
    explicit Run(std::span<const SegmentSum> segments) {
        for (const SegmentSum& segment : segments) {
            counts_.push_back(segment.count);
            inputs_.insert(inputs_.end(), segment.inputs.begin(), segment.inputs.end());
            outputs_.insert(outputs_.end(), segment.outputs.begin(), segment.outputs.end());
        }
        call_.dtype = static_cast<pace_device_dtype>(segments.front().dtype);
        call_.input_count = static_cast<uint32_t>(segments.front().inputs.size());
        call_.output_count = static_cast<uint32_t>(segments.front().outputs.size());
        call_.segment_count = static_cast<uint32_t>(segments.size());
        call_.counts = counts_.data();
        call_.inputs = inputs_.data();
        call_.outputs = outputs_.data();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    int queue(const pace_device_plugin_table& kernels, const DeviceLane& lane,
              const std::vector<double>& weights, double scale) {
        std::copy(weights.begin(), weights.end(), call_.weights);
        call_.scale = scale;
        return kernels.sum_segments(&call_, lane.stream());
    }

  private:
    std::vector<uint64_t> counts_;
    std::vector<const void*> inputs_;
    std::vector<void*> outputs_;
    pace_device_sum_segments call_{};
};

}  // namespace

std::vector<double> weights_of(const std::vector<DeviceMember>& members) {
    std::vector<double> weights;
    for (const DeviceMember& member : members) weights.push_back(member.weight);
    return weights;
}

std::vector<SegmentSum> segment_sums(const std::vector<DeviceMember>& members,
                                     const collectives::Layout& layout) {
    std::vector<SegmentSum> sums;
    for (size_t index = 0; index < layout.segments().size(); ++index) {
        const collectives::Segment& segment = layout.segments()[index];
        SegmentSum& sum = sums.emplace_back(SegmentSum{segment.dtype, segment.count, {}, {}});
        for (const DeviceMember& member : members) sum.inputs.push_back(address_of(member, index));
    }
    return sums;
}

Result<> queue_segment_sums(const pace_device_plugin_table& kernels, const DeviceLane& lane,
                            const std::vector<double>& weights, double scale,
                            const std::vector<SegmentSum>& segments, const char* what) {
    const auto scope = lane.device().enter();
    for (auto first = segments.begin(); first != segments.end();) {
        const auto end = std::find_if(first, segments.end(), [&](const SegmentSum& other) {
            return other.dtype != first->dtype;
        });
        Run run({first, end});
        const int failed = run.queue(kernels, lane, weights, scale);
        PACE_TRY(check_kernel(kernels, lane.device(), failed, what));
        first = end;
    }
    return {};
}

Result<> give_on_device(const std::vector<DeviceMember>& members, const collectives::Layout& layout,
                        const device::DeviceMemory& from) {
    const DeviceLane& lane = *members.front().contents->lane;
    for (const DeviceMember& member : members) member.contents->queued = true;
    return order_after(lane, members, queue_copies(lane, members, layout, from));
}

Result<> sum_on_device(const pace_device_plugin_table& kernels,
                       const std::vector<DeviceMember>& members, const collectives::Layout& layout,
                       double scale) {
    const DeviceLane& lane = *members.front().contents->lane;
    for (size_t i = 1; i < members.size(); ++i) PACE_TRY(lane.follow(*members[i].contents->lane));
    for (const DeviceMember& member : members) member.contents->queued = true;
    return order_after(lane, members, queue_sums(lane, kernels, members, layout, scale));
}

}  // namespace pace::daemon
