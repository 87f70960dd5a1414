#include "service/controller/policies/signal_queue.h"

#include <algorithm>

namespace pace::controller {

bool SignalQueue::push(const Signal& signal) {
    const Rank rank = signal.rank;
    if (slots_[rank].waiting) return false;
    auto line = std::find_if(lines_.begin(), lines_.end(),
                             [&](const Line& l) { return l.digest == signal.digest; });
    if (line == lines_.end()) {
        line = lines_.insert(line, Line{signal.digest, rank, kNoRank, 0});
    }
    slots_[rank] = Slot{signal, line->last, kNoRank, true};
    if (line->last != kNoRank) slots_[line->last].next = rank;
    line->last = rank;
    ++line->size;
    ++size_;
    return true;
}

bool SignalQueue::remove(Rank rank) {
    Slot& slot = slots_[rank];
    if (!slot.waiting) return false;
    const auto line = std::find_if(lines_.begin(), lines_.end(),
                                   [&](const Line& l) { return l.digest == slot.signal.digest; });
    if (slot.previous != kNoRank) slots_[slot.previous].next = slot.next;
    if (slot.next != kNoRank) slots_[slot.next].previous = slot.previous;
    if (line->first == rank) line->first = slot.next;
    if (line->last == rank) line->last = slot.previous;
    slot.waiting = false;
    --size_;
    if (--line->size == 0) lines_.erase(line);
    return true;
}

void SignalQueue::take(Rank first, uint32_t count, std::vector<Rank>& ret_ranks) const {
    ret_ranks.clear();
    for (Rank rank = first; ret_ranks.size() < count; rank = next(rank)) ret_ranks.push_back(rank);
}

}  // namespace pace::controller
