#include "daemon/clients/wait_texts.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pace::daemon {

using protocol::WaitText;

WaitTexts::WaitTexts(std::shared_ptr<base::MappedMemfd> memory, const protocol::RingLayout& layout)
    : first_(reinterpret_cast<WaitText*>(memory->data() + layout.waits())),
      requests_(layout.slots, 0) {
    memory_ = std::move(memory);
}

void WaitTexts::tell(uint64_t request, std::string_view text) {
    auto slot = std::find(requests_.begin(), requests_.end(), request);
    if (slot == requests_.end()) slot = std::find(requests_.begin(), requests_.end(), 0);
    if (request == 0 || slot == requests_.end()) return;
    *slot = request;
    size_t bytes = std::min(text.size(), protocol::kWaitTextBytes);
    while (bytes < text.size() && bytes > 0 &&
           (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
        --bytes;
    WaitText& place = first_[slot - requests_.begin()];
    changes_ += 2;
    place.changes.store(changes_ - 1, std::memory_order_seq_cst);
    for (size_t word = 0; word * sizeof(uint64_t) < bytes; ++word) {
        uint64_t value = 0;
        const size_t begin = word * sizeof(value);
        std::memcpy(&value, text.data() + begin, std::min(sizeof(value), bytes - begin));
        place.words[word].store(value, std::memory_order_seq_cst);
    }
    place.bytes.store(static_cast<uint32_t>(bytes), std::memory_order_seq_cst);
    place.request.store(request, std::memory_order_seq_cst);
    place.changes.store(changes_, std::memory_order_seq_cst);
}

void WaitTexts::release(uint64_t request) {
    const auto slot = std::find(requests_.begin(), requests_.end(), request);
    if (request == 0 || slot == requests_.end()) return;
    *slot = 0;
    first_[slot - requests_.begin()].request.store(0, std::memory_order_seq_cst);
}

}  // namespace pace::daemon
