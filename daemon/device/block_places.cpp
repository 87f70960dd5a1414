#include "daemon/device/block_places.h"

#include <iterator>

namespace pace::device {

namespace {

constexpr size_t aligned(size_t offset) {
    return (offset + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
}

}  // namespace

std::optional<size_t> BlockPlaces::take(size_t bytes) {
    if (bytes == 0 || bytes > bytes_) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    size_t begin = 0;
    auto next = taken_.begin();
    while (next != taken_.end() && (begin > next->first || bytes > next->first - begin)) {
        begin = aligned(next->second);
        ++next;
    }
    if (begin > bytes_ || bytes > bytes_ - begin) return std::nullopt;
    taken_.emplace_hint(next, begin, begin + bytes);
    return begin;
}

bool BlockPlaces::take_at(size_t offset, size_t bytes) {
    if (bytes == 0 || offset > bytes_ || bytes > bytes_ - offset) return false;
    const std::scoped_lock lock(mutex_);
    const auto next = taken_.lower_bound(offset);
    if (next != taken_.end() && next->first < offset + bytes) return false;
    if (next != taken_.begin() && std::prev(next)->second > offset) return false;
    taken_.emplace_hint(next, offset, offset + bytes);
    return true;
}

void BlockPlaces::give_back(size_t offset) {
    const std::scoped_lock lock(mutex_);
    taken_.erase(offset);
}

}  // namespace pace::device
