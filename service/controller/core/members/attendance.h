// Attendance: whether enough of a job's workers are there for the job to begin, to go on, or to
// end.
//
// The gate: a job begins when all `world` ranks have joined once. With run.min_workers, it is
// enough that so many are there and have waited for the others for run.wait_ms.
//
// After a replay the job *gathers*: the members named in the journal must announce themselves
// within liveness_max of the controller's start, or of the first member's return if that is later.
// Then the job continues without the missing. A job whose last members were lost with their daemons
// waits as long for the others, from when the first returns, or from when the only workers left
// lack rounds. Such workers, and newly opened sessions, must find the models of the sessions that
// only reconnect. They must not become the job's first workers.
#pragma once

#include <optional>

#include "service/controller/core/members/roster.h"
#include "service/controller/core/members/views.h"
#include "service/controller/vocabulary/core_options.h"
#include "service/controller/vocabulary/options.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class Attendance {
  public:
    // What it is given must outlive it. A job whose views have an epoch has begun.
    Attendance(const JobOptions& options, const CoreOptions& limits, Roster& roster,
               const Views& views)
        : options_(options), limits_(limits), roster_(roster), views_(views) {}

    // ---- what happens

    // Nobody has joined yet; the job ends if nobody joins in time.
    void begin_unjoined(TimePoint now) { unjoined_since_ = now; }
    // The job was under way before this controller, which has just learned of that.
    void begin_gathering() { gathering_ = true; }
    // The roster has replayed the journal.
    void replay_finished(TimePoint now);
    void on_joined(TimePoint now);
    // A worker takes part.
    void on_admitted() { deserted_ = false; }
    // A worker is gone.
    void on_gone(TimePoint now);
    // Workers are gone with their node.
    void on_lost(TimePoint now);

    // ---- the beginning

    bool was_joined() const { return !unjoined_since_; }
    // Notes since when enough workers are there. Call before start_is_due().
    void look_for_start(TimePoint now);
    bool start_is_due(TimePoint now) const;

    // ---- who is awaited

    bool is_gathering() const { return gathering_; }
    // Whether a member is back that its daemon announces again. Either the journal has the member,
    // at the same node, or the journal lacks it, and its daemon was in a view that the journal does
    // not know.
    bool is_member_back(const From<WorkerJoin>& event) const;
    // The gathering ends when all members are back, or when the time is over and some member is
    // back. True if it ends now.
    bool ends_gathering(TimePoint now);
    // Whether the job waits for workers that were lost. Ends the waiting when it is over.
    bool waits_for_return(TimePoint now);
    // Whether no worker is there, and some are awaited after the controller's restart.
    bool awaits_return(TimePoint now) const;
    // Whether the job had workers, and none is there or awaited.
    bool is_deserted(TimePoint now) const;
    // Whether, in addition, none may be alive without a daemon: all are known to have gone, or
    // nobody has come back for long.
    bool have_all_died(TimePoint now) const;
    // Whether a worker that joins now continues a run in which nobody takes part. `under_way`: the
    // worker is no member.
    bool continues_alone(bool under_way, TimePoint now);

    // ---- the end

    // Since when no worker is there or awaited; none otherwise.
    std::optional<TimePoint> finished_since(TimePoint now) const;
    // Whether nobody is left, or nobody has been there for too long.
    bool has_ended(TimePoint now) const;

    std::optional<TimePoint> next_deadline() const;
    // Whether nothing else in the job is considered before that deadline.
    bool holds_up() const { return gathering_ || waits_for_others(); }

  private:
    bool has_begun() const { return views_.epoch() > 0; }
    // A worker that has not returned after so long without any live worker counts as gone.
    bool is_patience_over(TimePoint now) const;
    bool waits_for_others() const { return return_deadline_ && all_lost_ && roster_.live() > 0; }
    // When the present workers have waited long enough for the others; none if they are too few.
    std::optional<TimePoint> late_start() const;

    const JobOptions& options_;
    const CoreOptions& limits_;
    Roster& roster_;
    const Views& views_;
    bool gathering_ = false;
    uint64_t journal_epoch_ = 0;  // the last epoch in the journal
    std::optional<TimePoint> gather_deadline_;
    // All members were lost with their daemons, and none is back, or not all for long.
    bool all_lost_ = false;
    std::optional<TimePoint> return_deadline_;
    bool deserted_ = false;                    // no worker has taken part since all were gone
    std::optional<TimePoint> unjoined_since_;  // since when nobody has joined
    std::optional<TimePoint> empty_since_;     // since when no worker is live, if one was
    // Since when run.min_workers have been there, while the job has not begun.
    std::optional<TimePoint> enough_since_;
};

}  // namespace pace::controller
