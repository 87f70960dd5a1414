// PeerSlots: peer ids, and the value to which each id leads.
//
// The lower bits of an id are a slot. The upper bits count how many peers had the slot before. No
// id is therefore given twice (transport.h): a message with the id of a peer that has left finds no
// peer. The number of slots is the largest number of peers at one time, however many peers came and
// went. One slot is added for each kUsesMax peers, because a slot whose ids have all been given is
// not used again.
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

    // Returns the id of a new peer. The id leads to `value`. There must be room.
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

    // The peer has left. `peer` must be present.
    void remove(PeerId peer) {
        slots_[slot_of(peer)].value = nullptr;
        if (peer / kSlotsMax + 1 < kUsesMax) free_.push_back(slot_of(peer));
    }

    // Returns null if the peer has left or never was a peer.
    T* find(PeerId peer) const {
        if (slot_of(peer) >= slots_.size()) return nullptr;
        const Slot& slot = slots_[slot_of(peer)];
        return slot.peer == peer ? slot.value : nullptr;
    }

    // Whether the id was ever given.
    bool was_given(PeerId peer) const {
        return slot_of(peer) < slots_.size() && peer <= slots_[slot_of(peer)].peer;
    }

    // The peers that have not left.
    std::vector<PeerId> present() const {
        std::vector<PeerId> peers;
        for (const Slot& slot : slots_)
            if (slot.value != nullptr) peers.push_back(slot.peer);
        return peers;
    }

    size_t slots() const { return slots_.size(); }

  private:
    struct Slot {
        PeerId peer = 0;  // the last peer that had the slot
        T* value = nullptr;
    };

    static uint32_t slot_of(PeerId peer) { return peer % kSlotsMax; }

    std::vector<Slot> slots_;
    std::vector<uint32_t> free_;
};

}  // namespace pace::transports
