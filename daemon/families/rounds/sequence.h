// Sequence: the numbers of a job's rounds at this node, and the views in which they begin.
//
//                      prepare, hold                   commit
//     rounds may begin ──────────────▶ rounds stopped ────────▶ rounds may begin
//            │                                ▲
//            └─ wait_for_view ─▶ no round begins in this view
//
// A pure state machine: it is told what has happened, and says what follows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/members/job_state.h"

namespace pace::daemon {

class Sequence {
  public:
    // `view` is the job's. It changes before commit(), and becomes void before invalidate().
    explicit Sequence(const View& view) : view_(view) {}

    // How many rounds have ended here. The round under way, or else the next one, has this number.
    uint64_t completed() const { return completed_; }
    // The view of the round that has begun last.
    const View& round_view() const { return round_view_; }
    // The first round of the view.
    uint64_t view_base() const { return view_base_; }
    // The epoch of the view for which rounds are stopped; 0: none.
    uint64_t preparing() const { return preparing_; }
    bool stopped() const { return preparing_ != 0; }
    // Whether no round begins in the view any more, or not yet.
    bool waits() const { return waits_in_ == view_.epoch; }
    bool may_begin() const { return !stopped() && view_.epoch != 0 && !waits(); }
    // In a job of partial rounds: whether the round is for a verb of all members.
    bool is_for_everyone() const { return everyone_; }

    void begin() { round_view_ = view_; }
    void serve_everyone() { everyone_ = true; }
    // The round has ended, with a result or without one. Returns its number.
    uint64_t end() {
        everyone_ = false;
        return completed_++;
    }

    // A round has failed among nodes, and its remaining messages would be taken for those of the
    // next attempt; or a result that this node lacks has not come. Whether the controller has to
    // hear that another view is wanted.
    bool wait_for_view() {
        wait();
        return !stopped();
    }
    // No round begins in the view before go_on().
    void wait() { waits_in_ = view_.epoch; }
    void go_on() { waits_in_ = 0; }

    // A view is being prepared. False: it is older than one that is known.
    bool prepare(uint64_t epoch) {
        if (epoch <= view_.epoch || epoch < preparing_) return false;
        preparing_ = epoch;
        return true;
    }
    // A view is being committed: no round begins before commit(). This node may not have known the
    // job when the view was prepared.
    void hold(uint64_t epoch) { preparing_ = std::max(preparing_, epoch); }
    // Rounds may begin in this view. True if this node lacks the result of the last round before
    // it: then that round is still this node's next one.
    bool commit(const control::CommitView& view, NodeId self) {
        preparing_ = 0;
        view_epoch_ = view.epoch;
        view_base_ = view.base_round;
        everyone_ = false;
        const bool is_behind = std::ranges::find(view.behind, self) != view.behind.end();
        if (is_behind && completed_ + 1 == view_base_ && view.donor != self) return true;
        completed_ = view_base_;
        return false;
    }
    // The epoch of the view that was committed last, once; 0: none.
    uint64_t leave_view() { return std::exchange(view_epoch_, 0); }
    // This node was excluded, or the controller is another one: nothing of the old view holds, and
    // its epoch may be that of a later view.
    void invalidate() {
        preparing_ = 0;
        everyone_ = false;
        waits_in_ = kNoEpoch;
        round_view_ = {};
    }

  private:
    static constexpr uint64_t kNoEpoch = ~uint64_t{0};

    const View& view_;
    View round_view_;
    uint64_t completed_ = 0;
    uint64_t preparing_ = 0;
    uint64_t waits_in_ = 0;    // the epoch of a view in which no round begins
    uint64_t view_epoch_ = 0;  // as leave_view() says
    uint64_t view_base_ = 0;
    bool everyone_ = false;
};

}  // namespace pace::daemon
