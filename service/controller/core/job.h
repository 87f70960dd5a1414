// Job: the workers that learn one model. It admits and loses them, and from that drives its views
// and its groups.
//
// The gate: no view and no group before all `world` ranks have joined once, or, with run.min_workers, so
// many are there and have waited for the others for run.wait_ms. From then on the job is
// *started* for good; who joins later is a newcomer, whom nobody needs until it is admitted. After
// a replay the job *gathers*: the members that the journal names have until liveness_max after the
// controller's start, or after the first of them is back if that is later, to announce themselves;
// then the job goes on without the missing. A job whose last members were lost with their daemons
// waits as long for the others when the first is back, or when it has nobody left but workers that
// lack rounds: these, and who opens anew, must find the models of those whose sessions only
// reconnect, and not become the job's first.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/adoptions.h"
#include "service/controller/core/cluster.h"
#include "service/controller/core/groups.h"
#include "service/controller/core/journal_record.h"
#include "service/controller/core/left_out.h"
#include "service/controller/core/places.h"
#include "service/controller/core/reported_groups.h"
#include "service/controller/core/server_job.h"
#include "service/controller/core/slowness.h"
#include "service/controller/core/turn.h"
#include "service/controller/core/views.h"
#include "service/controller/core/worker.h"

namespace pace::controller {

class Job {
  public:
    // Options as check() returns them.
    Job(JobId id, JobOptions options, uint32_t uid, uint64_t token, Cluster& cluster);

    JobId id() const { return id_; }
    const JobOptions& options() const { return options_; }
    uint32_t uid() const { return uid_; }
    uint64_t token() const { return token_; }
    const Run& run() const { return run_; }
    uint64_t run_before() const { return run_before_; }
    // A job that was created beforehand gets its run with its first worker; one whose journal was lost
    // gets its own back with the first that was in it.
    void set_run(Run run, uint64_t before);
    bool has_been_joined() const { return ranks_seen_ > 0; }
    // No worker is there, and some are awaited after the controller's restart.
    bool awaits_return(TimePoint now) const;
    // It had workers; none is there, nor awaited.
    bool is_deserted(TimePoint now) const;
    // And none may live, though nobody speaks for it: all are known to have gone, or nobody has come back for long.
    bool have_all_died(TimePoint now) const;
    // Of its workers, how many have a daemon that speaks for them.
    uint32_t live() const { return live_; }
    // Nobody is in it yet; it does not wait for ever.
    void begin_unjoined(TimePoint now) { unjoined_since_ = now; }
    bool was_joined() const { return !unjoined_since_; }
    bool is_started() const { return views_.epoch() > 0; }
    bool is_gathering() const { return gathering_; }

    // The worker of a rank that is not live joins. The caller has checked the request.
    void join(const From<WorkerJoin>& event, const Turn& turn);
    void leave(const From<WorkerLeave>& event, const Turn& turn);
    // Answers unless something of what the node has is needed.
    void keep(const From<JobKept>& event, const Turn& turn);
    void admit(const From<WorkerAdmit>& event, const Turn& turn);
    void on_ready(const From<Ready>& event, const Turn& turn);
    void on_withdraw(const From<Withdraw>& event, const Turn& turn);
    void on_group_done(const From<GroupDone>& event, const Turn& turn);
    void on_stored(const From<ServerStored>& event, const Turn& turn);
    void on_asked(const From<ServerAsked>& event, const Turn& turn);
    void on_assigned(const From<ServerAssigned>& event);
    void on_checkpoint_asked(const From<CheckpointAsked>& event);
    void on_saved(const From<ServerSaved>& event, const Turn& turn);
    void on_view_prepared(const From<ViewPrepared>& event);
    void on_report(NodeId node, const WorkerReport& report, const Turn& turn);
    void on_group_report(NodeId node, const GroupReport& report, TimePoint now);
    void on_stalled(NodeId node, const Turn& turn);
    // The cuts between nodes are others than they were.
    void on_cuts_changed();
    // The node has a member, and cannot go on in this view.
    void on_broken(NodeId node);
    // Two nodes have lost their connection to each other: whatever round ran between them begins
    // anew.
    void on_link_lost(NodeId a, NodeId b);
    void on_node_lost(NodeId node, const std::string& reason, const Turn& turn);
    // Its number is known no more.
    void on_node_forgotten(NodeId node) { had_workers_.erase(node); }
    // The node has measured links.
    void on_links(NodeId node);

    // Draws the consequences of what happened: starts, changes the view, orders groups. After every
    // event.
    void settle(const Turn& turn);

    // Nobody is left, or nobody has been for too long.
    bool has_ended(TimePoint now) const;
    std::optional<TimePoint> next_deadline() const;

    // A node that must have answered PrepareView long ago; 0 if none.
    NodeId deaf_node(TimePoint now) const;

    void replay(const EpochRecord& record);
    void replay(const PlacementRecord& record);
    void replay_finished(TimePoint now);
    void append_records(std::vector<JournalRecord>& records) const;

    // Null if there is no such rank, or nobody has joined the job yet.
    const Worker* find(Rank rank) const {
        return rank < workers_.size() ? &workers_[rank] : nullptr;
    }
    // Empty until somebody joins.
    const std::vector<Worker>& workers() const { return workers_; }
    const Views& views() const { return views_; }
    const Groups* groups() const { return groups_.get(); }
    const ReportedGroups* reported_groups() const { return reported_.get(); }
    const ServerJob* server() const { return server_.get(); }
    // Those that its workers are or were on, and that keep something of it.
    void add_nodes(std::set<NodeId>& ret_nodes) const;
    // Nobody is left to make use of it.
    void end(const Turn& turn) const;

    const LeftOut& left_out() const { return left_out_; }
    const Cluster& cluster() const { return cluster_; }
    const SlowWorkers& slow_workers() const { return slow_workers_; }
    // Since when no worker is there, if none is, nor is awaited.
    std::optional<TimePoint> finished_since(TimePoint now) const;

    // An operator takes the node out of use: its workers leave, and are told why.
    void drain(NodeId node, const Turn& turn);

    // The number of its label, or else of its place in this job; 0 if neither is known.
    uint32_t zone_of(NodeId node) const;

  private:
    // Whoever has not come back after so long a time in which nobody was there is gone.
    bool is_patience_over(TimePoint now) const;
    void furnish();
    Worker* live_at(NodeId node, Rank rank);
    void await_return(TimePoint now);
    bool waits_for_return(TimePoint now);
    bool is_member_back(const From<WorkerJoin>& event) const;
    void learn_of_start(uint64_t epoch, const Turn& turn);
    bool is_gone_on_with(bool under_way, TimePoint now);
    void attach(Rank rank, NodeId node, WorkerState state, const Turn& turn);
    void begin_taking_part(Rank rank, bool wants_model, const Turn& turn);
    void detach(Rank rank, WorkerState state, Placement placement, const Turn& turn);
    void suspend(Rank rank, const std::string& reason, const Turn& turn);
    About about() const { return {options_.name}; }
    About about(Rank rank) const;
    void note_empty(const Turn& turn) const;
    void note_stop(Rank rank, const Turn& turn) const;
    void suspend_if_late(Rank rank, const Turn& turn);
    LeftOut::Present present() const;
    bool admits(const Worker& worker);
    void follow_cuts(const Turn& turn);
    void leave_out(NodeId node, const Turn& turn);
    void take_back(NodeId node, const Turn& turn);
    bool is_waited_on(Rank rank) const;
    bool is_needed(NodeId node) const;
    bool is_needed(const From<JobKept>& kept) const;
    void place(Rank rank, Placement placement, const Turn& turn);

    void end_gathering(const Turn& turn);
    void request_view(NodeId node);
    void begin_view(const Turn& turn);
    void commit_view(const Turn& turn);
    bool are_rounds_made() const;
    void leave_out_those_who_lack_rounds(const Turn& turn);
    void leave_out_without_donor(Rank rank, const Turn& turn);
    std::vector<Member> members_covered() const;
    void find_places(const std::vector<NodeId>& nodes);
    void look_for_start(TimePoint now);
    // When the workers that are there have waited for the others for long enough; none if they are too few.
    std::optional<TimePoint> late_start() const;
    bool start_is_due(TimePoint now) const;

    JobId id_;
    JobOptions options_;
    uint32_t uid_;
    uint64_t token_;
    Run run_;
    uint64_t run_before_ = 0;
    Cluster& cluster_;
    std::vector<Worker>
        workers_;  // by rank; it and what is sized by the world comes with the first of them
    Views views_;
    Adoptions adoptions_;
    Places places_;  // of the view's nodes
    LeftOut left_out_;
    SlowWorkers slow_workers_;
    std::set<NodeId> owing_;          // without workers; told of the next view
    std::set<NodeId> had_workers_;    // or have some
    std::unique_ptr<Groups> groups_;  // null for policies whose groups are not formed here
    std::unique_ptr<ReportedGroups> reported_;  // null unless daemons tell of groups
    std::unique_ptr<ServerJob> server_;         // null unless there is a parameter server
    uint32_t ranks_seen_ = 0;                   // that are not absent
    uint32_t live_ = 0;
    uint32_t unsettled_ = 0;                 // lost or missing: not gone in order
    std::optional<TimePoint> enough_since_;  // run.min_workers are there, and it has not started
    bool view_wanted_ =
        false;  // the membership is not what the view, or the change under way, says
    bool view_broken_ = false;  // the change under way needs a node that is gone
    bool gathering_ = false;
    bool deserted_ = false;       // nobody has taken part since all were gone
    uint64_t journal_epoch_ = 0;  // that the journal knows of
    std::optional<TimePoint> gather_deadline_;
    // Its members, with their daemons; none has come back, or not all for long.
    bool all_lost_ = false;
    std::optional<TimePoint> return_deadline_;
    std::optional<TimePoint> unjoined_since_;  // nobody has joined since then
    std::optional<TimePoint> empty_since_;     // no live worker since, after there was one
};

}  // namespace pace::controller
