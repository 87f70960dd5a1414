// PeerSlots: peer ids, and what each of them leads to.
//
// An id is a slot, and in its upper bits how many peers had the slot before. So no id is given twice (transport.h): what still
// carries the id of a peer that has left finds nobody. There are as many slots as there were peers at one time, however many
// came and went; one slot more for each kUsesMax peers, because a slot whose ids have all been given is not used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "transports/transport.h"

namespace pace::transports {

template <typename T>
class PeerSlots {
  public:
    static constexpr uint32_t kSlotsMax = uint32_t{1} << 16U;
    static constexpr uint32_t kUsesMax = std::numeric_limits<PeerId>::max() / kSlotsMax + 1;

    bool full() const { return free_.empty() && slots_.size() == kSlotsMax; }

    // The id of a new peer, which leads to `value`. There must be room.
    PeerId add(T& value) {
        if (free_.empty()) {
            slots_.push_back({static_cast<PeerId>(slots_.size()), &value});
            free_.reserve(slots_.capacity());
            return slots_.back().peer;
        }
        Slot& slot = slots_[free_.back()];
        free_.pop_back();
        slot.peer += kSlotsMax;
        slot.value = &value;
        return slot.peer;
    }

    // The peer has left. It was one.
    void remove(PeerId peer) {
        slots_[slot_of(peer)].value = nullptr;
        if (peer / kSlotsMax + 1 < kUsesMax) free_.push_back(slot_of(peer));
    }

    // Null if the peer has left, or never was one.
    T* find(PeerId peer) const {
        if (slot_of(peer) >= slots_.size()) return nullptr;
        const Slot& slot = slots_[slot_of(peer)];
        return slot.peer == peer ? slot.value : nullptr;
    }

    // Whether the id was ever given.
    bool was_given(PeerId peer) const {
        return slot_of(peer) < slots_.size() && peer <= slots_[slot_of(peer)].peer;
    }

    // Those that have not left.
    std::vector<PeerId> present() const {
        std::vector<PeerId> peers;
        for (const Slot& slot : slots_)
            if (slot.value != nullptr) peers.push_back(slot.peer);
        return peers;
    }

    size_t slots() const { return slots_.size(); }

  private:
    struct Slot {
        PeerId peer = 0;  // the last one that had it
        T* value = nullptr;
    };

    static uint32_t slot_of(PeerId peer) { return peer % kSlotsMax; }

    std::vector<Slot> slots_;
    std::vector<uint32_t> free_;
};

}  // namespace pace::transports
