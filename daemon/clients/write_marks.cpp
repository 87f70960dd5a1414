#include "daemon/clients/write_marks.h"

#include <algorithm>
#include <utility>

#include "base/simulation/simulated_process.h"

namespace pace::daemon {

using protocol::WriteState;

struct WriteMarks::Slots {
    std::shared_ptr<base::MappedMemfd> memory;
    std::shared_ptr<const base::UniqueFd> connection;
    protocol::WriteMark* first = nullptr;
    // By slot; 0: free. The shared memory itself is never read.
    std::vector<uint64_t> requests;

    void set(size_t slot, WriteState state) {
        first[slot].state.store(static_cast<uint32_t>(state), std::memory_order_release);
    }
};

// An exchange may hold the mark for longer than the request lasts. By then another request may use
// the slot.
class WriteMarks::Mark final : public WriteMark {
  public:
    Mark(std::shared_ptr<Slots> slots, size_t slot, uint64_t request)
        : slots_(std::move(slots)), slot_(slot), request_(request) {}

    void writing() override { set(WriteState::writing); }
    void untouched() override { set(WriteState::untouched); }
    void whole() override { set(WriteState::whole); }

  private:
    void set(WriteState state) {
        if (slots_->requests[slot_] != request_) return;
        base::pass("before a write mark");
        slots_->set(slot_, state);
        base::pass("after a write mark");
    }

    std::shared_ptr<Slots> slots_;
    size_t slot_;
    uint64_t request_;
};

WriteMarks::WriteMarks(std::shared_ptr<base::MappedMemfd> memory,
                       const protocol::RingLayout& layout,
                       std::shared_ptr<const base::UniqueFd> connection)
    : slots_(std::make_shared<Slots>()) {
    slots_->first = reinterpret_cast<protocol::WriteMark*>(memory->data() + layout.marks());
    slots_->memory = std::move(memory);
    slots_->connection = std::move(connection);
    slots_->requests.assign(layout.slots, 0);
}

WriteMarkPtr WriteMarks::take(uint64_t request) {
    auto& requests = slots_->requests;
    const auto free = std::find(requests.begin(), requests.end(), 0);
    if (request == 0 || free == requests.end()) return nullptr;
    *free = request;
    const auto slot = static_cast<size_t>(free - requests.begin());
    slots_->set(slot, WriteState::untouched);
    slots_->first[slot].request.store(request, std::memory_order_release);
    return std::make_shared<Mark>(slots_, slot, request);
}

void WriteMarks::release(uint64_t request) {
    auto& requests = slots_->requests;
    const auto held = std::find(requests.begin(), requests.end(), request);
    if (request == 0 || held == requests.end()) return;
    *held = 0;
    const auto slot = static_cast<size_t>(held - requests.begin());
    slots_->first[slot].request.store(0, std::memory_order_release);
}

}  // namespace pace::daemon
