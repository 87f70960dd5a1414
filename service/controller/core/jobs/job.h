// Job: the workers that train one model. It admits and loses workers, and from this drives its
// views and groups.
//
// The roster has the workers (roster.h). Attendance says when the job may begin and go on
// (attendance.h): there is no view and no group before it begins. From then on the job is *started*
// for good. A worker that joins later is a newcomer, which nobody needs before it is admitted.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/groups/groups.h"
#include "service/controller/core/groups/places.h"
#include "service/controller/core/groups/reported_groups.h"
#include "service/controller/core/jobs/adoptions.h"
#include "service/controller/core/jobs/left_out.h"
#include "service/controller/core/journal/journal_record.h"
#include "service/controller/core/members/attendance.h"
#include "service/controller/core/members/roster.h"
#include "service/controller/core/members/slowness.h"
#include "service/controller/core/members/views.h"
#include "service/controller/core/nodes/cluster.h"
#include "service/controller/core/serving/server_job.h"
#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

class Job {
  public:
    // Takes options as check() returns them.
    Job(JobId id, JobOptions options, uint32_t uid, uint64_t token, Cluster& cluster);
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    JobId id() const { return id_; }
    const JobOptions& options() const { return options_; }
    uint32_t uid() const { return uid_; }
    uint64_t token() const { return token_; }
    // The job was under way before this token was made: the journal that had its earlier token is
    // lost.
    void set_token_new() { is_token_new_ = true; }
    bool is_token_new() const { return is_token_new_; }
    const Run& run() const { return run_; }
    uint64_t run_before() const { return run_before_; }
    // Sets the run. A job that was created beforehand gets its run with its first worker. A job
    // whose journal was lost gets its run back with the first worker that was in it.
    void set_run(Run run, uint64_t before);
    bool is_started() const { return views_.epoch() > 0; }
    // Nobody has joined yet; the job ends if nobody joins in time.
    void begin_unjoined(TimePoint now) { attendance_.begin_unjoined(now); }
    const Attendance& attendance() const { return attendance_; }
    const Roster& roster() const { return roster_; }
    // By rank; empty until a worker joins.
    const std::vector<Worker>& workers() const { return roster_.workers(); }

    // A worker joins with a rank that is not live. The caller has checked the request.
    void join(const From<WorkerJoin>& event, const Turn& turn);
    void leave(const From<WorkerLeave>& event, const Turn& turn);
    // Tells the node that its part is over, unless something that the node keeps is needed.
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
    // The set of cuts between nodes has changed.
    void on_cuts_changed(const std::vector<CutLinks::Pair>& pairs);
    // The node has a member and cannot continue in this view.
    void on_broken(NodeId node);
    // Two nodes have lost their connection to each other: any round between them begins anew.
    void on_link_lost(NodeId a, NodeId b);
    void on_node_lost(NodeId node, const std::string& reason, const Turn& turn);
    // The node's id is forgotten.
    void on_node_forgotten(NodeId node) { roster_.forget_node(node); }
    // The node has measured links.
    void on_links(NodeId node);

    // Acts on what has happened: starts the job, changes the view, orders groups. Call after every
    // event.
    void settle(const Turn& turn);

    std::optional<TimePoint> next_deadline() const;

    // A node whose answer to PrepareView is long overdue; 0 if none.
    NodeId deaf_node(TimePoint now) const;

    void replay(const EpochRecord& record);
    void replay(const AnewRecord& record);
    void replay(const PlacementRecord& record);
    void replay_finished(TimePoint now);
    void append_records(std::vector<JournalRecord>& records) const;

    const Views& views() const { return views_; }
    const Groups* groups() const { return groups_.get(); }
    const ReportedGroups* reported_groups() const { return reported_.get(); }
    const ServerJob* server() const { return server_.get(); }
    // Adds the nodes where the job's workers are or were, and those that keep data of the job.
    void add_nodes(std::set<NodeId>& ret_nodes) const;
    // Tells the nodes that the job has ended.
    void end(const Turn& turn) const;

    const LeftOut& left_out() const { return left_out_; }
    const Cluster& cluster() const { return cluster_; }
    const SlowWorkers& slow_workers() const { return slow_workers_; }

    // An operator takes the node out of use: its workers leave, and are told why.
    void drain(NodeId node, const Turn& turn);

    // The number of the node's label, or else of its place in this job; 0 if neither is known.
    uint32_t zone_of(NodeId node) const;

  private:
    void furnish();
    void learn_of_start(uint64_t epoch, const Turn& turn);
    void begin_taking_part(Rank rank, bool wants_model, const Turn& turn);
    void end_part(Rank rank, TimePoint now);
    void depart(Rank rank, Departure how, const Turn& turn);
    // `anew`: see WorkerSuspended.
    void suspend(Rank rank, const std::string& reason, const Turn& turn, bool anew = false);
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
    bool is_needed(NodeId node, const std::vector<NodeId>& in_view) const;
    bool is_needed(const From<JobKept>& kept) const;
    void end_gathering(const Turn& turn);
    void request_view(NodeId node);
    void begin_view(const Turn& turn);
    void commit_view(const Turn& turn);
    bool are_rounds_made() const;
    bool is_a_model_left(const std::vector<NodeId>& left_behind) const;
    void leave_out_those_who_lack_rounds(const Turn& turn);
    void leave_out_the_new_before_others(const Turn& turn);
    void leave_out_those_of_before(const Turn& turn);
    void leave_out_those_without_part(const Turn& turn);
    bool is_new(const Worker& worker) const;
    bool begins_anew(const std::vector<Member>& members) const;
    bool begins_together() const;
    bool are_new(const std::vector<Member>& members, const std::vector<Adoption>& adoptions) const;
    void leave_out_without_donor(Rank rank, const Turn& turn);
    void name_newcomers(const std::vector<Member>& members,
                        std::vector<Adoption>& ret_adoptions) const;
    std::vector<Member> members_covered() const;
    void find_places(const std::vector<NodeId>& nodes);

    JobId id_;
    JobOptions options_;
    uint32_t uid_;
    uint64_t token_;
    bool is_token_new_ = false;
    Run run_;
    uint64_t run_before_ = 0;
    Cluster& cluster_;
    Roster roster_;
    Views views_;
    Attendance attendance_;
    Adoptions adoptions_;
    Places places_;  // of the view's nodes
    LeftOut left_out_;
    SlowWorkers slow_workers_;
    std::set<NodeId> owing_;          // keep residuals without workers; in the next view change
    std::unique_ptr<Groups> groups_;  // null if no groups are formed here
    std::unique_ptr<ReportedGroups> reported_;  // null unless daemons report groups
    std::unique_ptr<ServerJob> server_;         // null unless there is a parameter server
    // The epoch of the view in which newly opened workers began an averaging job anew, with a model
    // of their own, because nobody else was left. 0: it has one beginning.
    uint64_t anew_epoch_ = 0;
    // All members of the view were opened since anybody last took part, and have made no round yet,
    // whatever was made before them: their first broadcast waits for whoever comes.
    bool are_members_new_ = false;
    // The membership differs from the view, or from the change under way.
    bool view_wanted_ = false;
    bool view_broken_ = false;  // the change needs a node that is gone
};

}  // namespace pace::controller
