#include "daemon/exchange/run/plan.h"

#include <bit>

namespace pace::daemon {

std::vector<const std::byte*> segments_of(const std::vector<BufferPtr>& buffers) {
    std::vector<const std::byte*> segments;
    segments.reserve(buffers.size());
    for (const BufferPtr& buffer : buffers) segments.push_back(buffer->memory.data());
    return segments;
}

std::vector<std::byte*> memory_of(const std::vector<BufferPtr>& buffers) {
    std::vector<std::byte*> segments;
    segments.reserve(buffers.size());
    for (const BufferPtr& buffer : buffers) segments.push_back(buffer->memory.data());
    return segments;
}

collectives::Layout layout_of(const std::vector<BufferPtr>& buffers) {
    std::vector<collectives::Segment> segments;
    segments.reserve(buffers.size());
    for (const BufferPtr& buffer : buffers) segments.push_back({buffer->dtype, buffer->count});
    return collectives::Layout(std::move(segments));
}

size_t ExchangePlan::bytes_touched() const {
    const size_t copies = copy_to.empty() ? 0 : 1;
    return layout.bytes() * (contributions.size() + recipients.size() + copies);
}

// A power of two changes no bit of a normal number. A node with one member has nothing to round: if
// all nodes are such, the members' own memory travels.
void ExchangePlan::make_room(size_t members_max) {
    const auto room = static_cast<double>(std::bit_ceil(members_max));
    for (Contribution& contribution : contributions) contribution.weight /= room;
    for (DeviceMember& member : on_device) member.weight /= room;
    scale *= room;
}

// The memory must be in one piece and laid out as the result, whose padding would be elements of
// other data. Memory that is being copied for a newcomer may be the result of an earlier call in
// the same place. GPUs copy from pinned memory.
bool ExchangePlan::may_form_at(size_t recipient) const {
    if (nodes.size() <= 1 || !on_device.empty() || (hold && hold->is_held())) return false;
    if (layout.bytes() == 0 || layout.bytes() != layout.payload_bytes()) return false;
    const std::vector<std::byte*> memory = memory_of(recipients[recipient]);
    for (size_t i = 0; i < memory.size(); ++i)
        if (memory[i] != memory.front() + layout.offset(i)) return false;
    return true;
}

}  // namespace pace::daemon
