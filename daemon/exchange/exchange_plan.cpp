// Exchange: the parts of its plan, and the numbers that members also tell each other.
#include <bit>

#include "daemon/exchange/exchange.h"

namespace pace::daemon {

using base::Result;
using base::Task;

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

// A power of two changes no bit of a normal number. A node with one member has nothing to round: if
// all nodes are such, the members' own memory travels.
void Exchange::Plan::make_room(size_t members_max) {
    const auto room = static_cast<double>(std::bit_ceil(members_max));
    for (Contribution& contribution : contributions) contribution.weight /= room;
    for (DeviceMember& member : on_device) member.weight /= room;
    scale *= room;
}

// The memory must be in one piece and laid out as the result, whose padding would be elements of
// other data. Memory that is being copied for a newcomer may be the result of an earlier call in
// the same place. GPUs copy from pinned memory.
bool Exchange::Plan::may_form_at(size_t recipient) const {
    if (nodes.size() <= 1 || !on_device.empty() || (hold && hold->is_held())) return false;
    if (layout.bytes() == 0 || layout.bytes() != layout.payload_bytes()) return false;
    const std::vector<std::byte*> memory = memory_of(recipients[recipient]);
    for (size_t i = 0; i < memory.size(); ++i)
        if (memory[i] != memory.front() + layout.offset(i)) return false;
    return true;
}

// The messages travel while the buffers are exchanged.
Task<Result<>> Exchange::run_telling() {
    const size_t nodes = plan_.nodes.size();
    const std::unique_ptr<collectives::Operation[]> sent(new collectives::Operation[nodes]);
    const std::unique_ptr<collectives::Operation[]> heard(new collectives::Operation[nodes]);
    for (size_t node = 0; node < nodes; ++node) {
        if (node == plan_.self) continue;
        communicator_->post_receive(heard[node], node, kNumbersSlot,
                                    std::as_writable_bytes(std::span(plan_.numbers[node])));
        communicator_->post_send(sent[node], node, kNumbersSlot,
                                 std::as_bytes(std::span(plan_.numbers[plan_.self])));
    }
    const Result<> ran = co_await run_among_nodes();
    if (!ran) communicator_->abort(ran.error());
    // All operations are awaited, also after an error: they use the plan's memory.
    for (size_t node = 0; node < nodes; ++node) {
        communicator_->note(co_await sent[node].ended());
        communicator_->note(co_await heard[node].ended());
    }
    co_return communicator_->status();
}

}  // namespace pace::daemon
