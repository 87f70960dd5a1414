// SignalQueue: the ready signals of one job, first in, first out, one line per digest.
//
// A worker has at most one signal in the queue. Removal from anywhere is O(1), and no signal
// allocates memory: the links are stored in one slot per rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/controller/policies/policy.h"

namespace pace::controller {

class SignalQueue {
  public:
    // The waiting signals of one digest; never empty.
    struct Line {
        uint32_t digest = 0;
        Rank first = kNoRank;
        Rank last = kNoRank;
        uint32_t size = 0;
    };

    explicit SignalQueue(uint32_t world) : slots_(world) {}

    // The rank must be below the world size. False, and nothing changes, if the rank was already
    // waiting.
    bool push(const Signal& signal);

    // False if the rank was not waiting.
    bool remove(Rank rank);

    bool contains(Rank rank) const { return slots_[rank].waiting; }
    uint32_t size() const { return size_; }

    // Lines in the order in which they became non-empty.
    std::span<const Line> lines() const { return lines_; }
    const Signal& signal(Rank rank) const { return slots_[rank].signal; }

    // The signal behind the rank's in its line; kNoRank at the end.
    Rank next(Rank rank) const { return slots_[rank].next; }

    // The ranks of `count` signals of one line, from `first` on. The line must have that many.
    void take(Rank first, uint32_t count, std::vector<Rank>& ret_ranks) const;

  private:
    struct Slot {
        Signal signal;
        Rank previous = kNoRank;
        Rank next = kNoRank;
        bool waiting = false;
    };

    std::vector<Slot> slots_;
    std::vector<Line> lines_;
    uint32_t size_ = 0;
};

}  // namespace pace::controller
