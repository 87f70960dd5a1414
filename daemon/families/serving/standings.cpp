#include "daemon/families/serving/standings.h"

namespace pace::daemon {

using protocol::Outcome;

namespace {

constexpr const char* kNew =
    "this worker is new in the job, or was taken out of it; call pace_broadcast or pace_pull for "
    "the current model and go on from info.iteration";
constexpr const char* kBeganAnew =
    "the job has begun anew, since every daemon that knew of it was gone, and so have its "
    "steps; call "
    "pace_broadcast, which makes the root's the model, and go on from info.iteration";

}  // namespace

const char* Standings::refusal(const Worker& worker) const {
    if (worker.newcomer) return kNew;
    if (lost_) return kLost;
    if (rolled_back_.contains(worker.rank)) return kRestored;
    if (unaware_.contains(worker.rank)) return kBeganAnew;
    return nullptr;
}

std::optional<Ending> Standings::pull_refusal(const Worker& worker, bool ahead) const {
    if (no_room_) return failed(*no_room_);
    if (lost_) return ended_as(Outcome::stale, kLost);
    if (ahead && rolled_back_.contains(worker.rank)) return ended_as(Outcome::stale, kRestored);
    if (ahead && unaware_.contains(worker.rank)) return ended_as(Outcome::stale, kBeganAnew);
    return std::nullopt;
}

void Standings::set_lost(bool lost) {
    lost_ = lost;
    if (lost) rolled_back_.clear();
}

void Standings::all_got_model() {
    lost_ = false;
    unaware_.clear();
}

void Standings::forget(control::Rank rank) {
    rolled_back_.erase(rank);
    unaware_.erase(rank);
}

}  // namespace pace::daemon
