// RecentIds: the last few thousand ids of closed exchanges or of peers that left. Messages that
// arrive late from them are dropped.
//
// The number of ids is bounded: the memory of a long-lived daemon must not grow with the number of
// ids that it has seen. A message that comes later than kRemembered further ids is kept as
// unexpected, within the bound of its peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace pace::transports {

class RecentIds {
  public:
    // A guess: this number covers seconds of exchanges at the highest rates, in about 200 KB.
    static constexpr size_t kRemembered = 4096;

    void add(uint64_t id) {
        if (!ids_.insert(id).second) return;
        if (count_ == kRemembered) {
            ids_.erase(ring_[next_]);
        } else {
            ++count_;
        }
        ring_[next_] = id;
        next_ = (next_ + 1) % kRemembered;
    }

    // The id is current again. The id keeps its place in the ring, so an id that is added again may
    // be forgotten early.
    void remove(uint64_t id) { ids_.erase(id); }

    bool contains(uint64_t id) const { return ids_.contains(id); }

  private:
    std::array<uint64_t, kRemembered> ring_{};
    size_t next_ = 0;
    size_t count_ = 0;
    std::unordered_set<uint64_t> ids_;
};

}  // namespace pace::transports
