#include "service/controller/core/members/attendance.h"

#include <algorithm>

namespace pace::controller {

// ------------------------------------------------------------------------------------ what happens

void Attendance::replay_finished(TimePoint now) {
    journal_epoch_ = views_.epoch();
    gathering_ = roster_.has(WorkerState::missing);
    if (roster_.seen() != 0)
        empty_since_ = now;
    else
        begin_unjoined(now);
    if (gathering_) gather_deadline_ = now + limits_.liveness_max;
}

void Attendance::on_joined(TimePoint now) {
    unjoined_since_.reset();
    empty_since_.reset();
    if (gathering_ && !gather_deadline_) gather_deadline_ = now + limits_.liveness_max;
    if (all_lost_ && !return_deadline_) return_deadline_ = now + limits_.liveness_max;
}

void Attendance::on_gone(TimePoint now) {
    if (roster_.live() == 0) empty_since_ = now;
}

// The workers left, if any, have no model to continue with: they lack rounds, or are new.
void Attendance::on_lost(TimePoint now) {
    all_lost_ = roster_.live() == 0 || (has_begun() && !roster_.has(WorkerState::member));
    if (all_lost_ && roster_.live() > 0 && !return_deadline_)
        return_deadline_ = now + limits_.liveness_max;
}

// ----------------------------------------------------------------------------------- the beginning

void Attendance::look_for_start(TimePoint now) {
    const bool enough = options_.min_workers != 0 && roster_.live() >= options_.min_workers;
    if (has_begun() || !enough) {
        enough_since_.reset();
    } else if (!enough_since_) {
        enough_since_ = now;
    }
}

std::optional<TimePoint> Attendance::late_start() const {
    if (!enough_since_ || has_begun()) return std::nullopt;
    return *enough_since_ + std::chrono::milliseconds(options_.min_workers_wait_ms);
}

bool Attendance::start_is_due(TimePoint now) const {
    if (has_begun() || roster_.live() == 0) return false;
    const auto late = late_start();
    return roster_.seen() == options_.world || (late && now >= *late);
}

// ---------------------------------------------------------------------------------- who is awaited

bool Attendance::is_member_back(const From<WorkerJoin>& event) const {
    const Worker& worker = roster_.at(event.rank);
    if (!event.resume || !gathering_) return false;
    if (worker.state == WorkerState::lost) return event.epoch > journal_epoch_;
    if (worker.state != WorkerState::missing) return false;
    // A worker that was in no view has no model of the job yet, though the journal has its place.
    if (has_begun() && event.epoch == 0) return false;
    return worker.node == 0 ? event.epoch > 0 : worker.node == event.node;
}

bool Attendance::ends_gathering(TimePoint now) {
    if (!gathering_) return false;
    const bool is_over = gather_deadline_ && now >= *gather_deadline_;
    const bool is_anyone_there = roster_.live() > 0;
    if (is_over && !is_anyone_there) gather_deadline_.reset();  // begins anew with the first
    if (roster_.has(WorkerState::missing) && (!is_over || !is_anyone_there)) return false;
    gathering_ = false;
    gather_deadline_.reset();
    return true;
}

bool Attendance::waits_for_return(TimePoint now) {
    if (!all_lost_ || roster_.live() == 0) {
        return_deadline_.reset();  // begins anew with the first worker that returns
        return false;
    }
    const bool some_may = roster_.any(
        [](const Worker& worker) { return worker.may_return && !is_taking_part(worker.state); });
    if (some_may && return_deadline_ && now < *return_deadline_) return true;
    all_lost_ = false;
    return_deadline_.reset();
    roster_.expect_no_return();
    return false;
}

bool Attendance::is_patience_over(TimePoint now) const {
    return empty_since_ && now - *empty_since_ >= 5 * limits_.liveness_max;
}

bool Attendance::awaits_return(TimePoint now) const {
    return roster_.live() == 0 && !is_patience_over(now) && roster_.has(WorkerState::missing);
}

bool Attendance::is_deserted(TimePoint now) const {
    return roster_.live() == 0 && roster_.seen() > 0 && !awaits_return(now);
}

bool Attendance::have_all_died(TimePoint now) const {
    if (!is_deserted(now)) return false;
    return is_patience_over(now) || !roster_.any([](const Worker& worker) {
        return worker.state == WorkerState::lost && worker.node_was_lost;
    });
}

bool Attendance::continues_alone(bool under_way, TimePoint now) {
    if (have_all_died(now)) deserted_ = true;
    deserted_ = deserted_ && under_way;
    return deserted_;
}

// ----------------------------------------------------------------------------------------- the end

std::optional<TimePoint> Attendance::finished_since(TimePoint now) const {
    return is_gathering() || !is_deserted(now) ? std::nullopt : empty_since_;
}

bool Attendance::has_ended(TimePoint now) const {
    if (unjoined_since_) return now - *unjoined_since_ >= limits_.unjoined_keep;
    if (roster_.live() != 0 || !empty_since_) return false;
    return !roster_.has_unsettled() || now - *empty_since_ >= limits_.abandoned_keep;
}

std::optional<TimePoint> Attendance::next_deadline() const {
    std::optional<TimePoint> earliest;
    const auto consider = [&](TimePoint when) {
        earliest = std::min(earliest.value_or(when), when);
    };
    if (gathering_ && gather_deadline_) consider(*gather_deadline_);
    if (waits_for_others() && !gathering_) consider(*return_deadline_);
    if (const auto start = late_start(); start && !gathering_) consider(*start);
    if (unjoined_since_) consider(*unjoined_since_ + limits_.unjoined_keep);
    if (empty_since_) consider(*empty_since_ + limits_.abandoned_keep);
    return earliest;
}

}  // namespace pace::controller
