#include "daemon/exchange/device_sum.h"

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

Result<> give_on_device(const std::vector<DeviceMember>& members, const collectives::Layout& layout,
                        const device::DeviceMemory& from) {
    const DeviceLane& lane = *members.front().contents->lane;
    for (const DeviceMember& member : members) {
        member.contents->queued = true;
        PACE_TRY(lane.copy_on_device(member.contents->buffers, layout, from.address()));
    }
    for (size_t i = 1; i < members.size(); ++i) PACE_TRY(members[i].contents->lane->follow(lane));
    for (const DeviceMember& member : members) member.contents->made = true;
    return {};
}

namespace {

pace_device_sum sum_of(const std::vector<DeviceMember>& members,
                       const collectives::Segment& segment, size_t index, double scale) {
    pace_device_sum sum{};
    sum.dtype = static_cast<pace_device_dtype>(segment.dtype);
    sum.count = segment.count;
    sum.scale = scale;
    for (const DeviceMember& member : members) {
        void* const data = address_of(member, index);
        sum.weights[sum.input_count] = member.weight;
        sum.inputs[sum.input_count++] = data;
        sum.outputs[sum.output_count++] = data;
    }
    return sum;
}

}  // namespace

Result<> sum_on_device(const pace_device_plugin_table& kernels,
                       const std::vector<DeviceMember>& members, const collectives::Layout& layout,
                       double scale) {
    const DeviceLane& lane = *members.front().contents->lane;
    for (size_t i = 1; i < members.size(); ++i) PACE_TRY(lane.follow(*members[i].contents->lane));
    const auto scope = lane.device().enter();
    for (const DeviceMember& member : members) member.contents->queued = true;
    for (size_t index = 0; index < layout.segments().size(); ++index) {
        const pace_device_sum sum = sum_of(members, layout.segments()[index], index, scale);
        const int failed = kernels.sum(&sum, lane.stream());
        if (failed != 0)
            return make_error(ErrorKind::unavailable, "sum on {}: {}", lane.device().facts().id(),
                              kernels.error_text(failed));
    }
    for (size_t i = 1; i < members.size(); ++i) PACE_TRY(members[i].contents->lane->follow(lane));
    for (const DeviceMember& member : members) member.contents->made = true;
    return {};
}

}  // namespace pace::daemon
