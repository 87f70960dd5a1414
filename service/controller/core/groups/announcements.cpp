#include "service/controller/core/groups/announcements.h"

namespace pace::controller {

void Announcements::add(const From<Ready>& announced, std::optional<TimePoint> due) {
    remove(announced.rank);
    noted_[announced.rank] = Noted{announced, due};
    if (due) by_due_.emplace(*due, announced.rank);
}

bool Announcements::remove(Rank rank) {
    std::optional<Noted>& noted = noted_[rank];
    if (!noted) return false;
    if (noted->due) by_due_.erase({*noted->due, rank});
    noted.reset();
    return true;
}

bool Announcements::take_due(TimePoint now, From<Ready>& ret_announced) {
    if (by_due_.empty() || by_due_.begin()->first > now) return false;
    const Rank rank = by_due_.begin()->second;
    ret_announced = noted_[rank]->announced;
    return remove(rank);
}

std::optional<TimePoint> Announcements::next_due() const {
    if (by_due_.empty()) return std::nullopt;
    return by_due_.begin()->first;
}

}  // namespace pace::controller
