// Job: this node's workers of one job, and where each of their requests goes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/exchange/adoption.h"
#include "daemon/exchange/groups.h"
#include "daemon/exchange/job_state.h"
#include "daemon/exchange/nonfinite.h"
#include "daemon/exchange/rounds.h"
#include "daemon/exchange/serving.h"
#include "daemon/exchange/vetting.h"
#include "daemon/exchange/wait.h"

namespace pace::daemon {

class Job {
  public:
    Job(Services& services, control::JobOptions options, uint32_t uid);
    // Ends what is under way; nobody is told.
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    JobState& state() { return state_; }
    const JobState& state() const { return state_; }
    const Rounds& rounds() const { return rounds_; }

    // A verb that does not fit the job's family is refused before anything changes.
    base::Result<> check_verb(protocol::Verb verb) const;

    void add(const WorkerPtr& worker);
    // Its trainer has been in a job of this name before, had the results of so many rounds, and may not know that this one has
    // begun since.
    void came_again(Worker& worker, uint64_t rounds_untrusted) {
        if (serving_) serving_->came_again(worker);
        worker.unaware = !worker.newcomer && rounds_untrusted > 0 &&
                         protocol::family_of(state_.options.policy) == control::Family::collective;
    }
    // The request, which is not submitted yet, is a sum that may be made where its buffers are, on a GPU.
    bool sums_on_device(const Worker& worker, const Request& request) const;
    void submit(const WorkerPtr& worker, Request request);
    void cancel(const WorkerPtr& worker, uint64_t id);
    void announce(const WorkerPtr& worker, uint64_t iteration) {
        groups_.announce(worker, iteration);
    }
    void take_back(const WorkerPtr& worker) { groups_.take_back(*worker); }
    void ready(const WorkerPtr& worker, uint64_t id, uint64_t elements);
    // The controller knows nothing of a view: one that this node was in, and has no worker in any more, is void.
    void begin_anew();
    // The trainer has left, or is gone. What it has in an exchange still ends there.
    void remove(const WorkerPtr& worker);
    bool unused() const { return state_.workers.empty(); }
    // When its last worker here left.
    base::TimePoint unused_since() const { return unused_since_; }
    // An exchange among nodes, or of those that have left, is under way, or something is given to others that lack it.
    bool is_exchanging() const {
        return rounds_.is_exchanging() || rounds_.is_giving() || groups_.is_exchanging();
    }
    bool owes() const { return rounds_.owes(); }
    // Null unless the job has a parameter server.
    const ShardHost* shard_host() const { return serving_ ? &serving_->host() : nullptr; }
    bool keeps_shards() const { return serving_ && serving_->keeps_shards(); }

    // From the controller.
    void prepare(const control::PrepareView& view);
    void commit(const control::CommitView& view);
    void order(const control::GroupOrder& order) { groups_.order(order); }
    void abort_group(control::GroupId group, const base::Error& error) {
        groups_.abort(group, error);
    }
    void order(const control::ServerOrder& order) {
        if (serving_) serving_->order(order);
    }
    void checkpoint_ended(const control::CheckpointEnded& ended) {
        if (serving_) serving_->ended(ended);
    }
    // Nobody needs what is here of the job; it has no worker here.
    void end_part() {
        if (serving_) serving_->forget();
        ended_here_ = true;
    }
    bool has_ended_here() const { return ended_here_; }
    void suspend(control::Rank rank, const std::string& reason);
    // The worker has left the job, since an operator drains this node: what it has called ends, and what it calls from now on fails.
    void drain(control::Rank rank, const std::string& reason);
    // The model that the worker asked for is known to no daemon.
    void no_model(control::Rank rank);
    void withdrawn(control::Rank rank);
    // The controller does not let the worker in again.
    void refuse(const WorkerPtr& worker, const base::Error& error);

    // The daemon is attached again: what the controller must hear about the worker, once it has accepted it.
    control::WorkerJoin announcement(const Worker& worker) const;
    void resumed(const WorkerPtr& worker, bool under_way);
    // What an earlier attachment's controller has ordered may be known here alone.
    void attached_anew() { groups_.attached_anew(); }
    // A message about the job, or something that it has begun, had no memory: what is under way here ends, and the job goes on with
    // another view.
    void run_out_of_memory();
    // The daemon was excluded, or is stopping: every view, order and exchange is void.
    void invalidate(const base::Error& error);

    // What of its workers here has waited for so long at least.
    std::vector<Wait> waits(uint64_t now_ns, base::Duration least) const;
    // Says to trainers what their calls wait for that have waited for long, and in the log, there at growing intervals.
    void tell_waits(uint64_t now_ns);

    // Says of the workers how they are, and of static groups which have ended.
    void report(control::Heartbeat& ret_heartbeat) {
        report_workers(ret_heartbeat.workers);
        groups_.report(ret_heartbeat.groups);
    }
    // Called a few times a second. Returns the nodes whose letters it waits for, and has for a while.
    std::vector<NodeId> look_again() {
        return serving_ ? serving_->look_again() : std::vector<NodeId>();
    }

  private:
    void take(const WorkerPtr& worker, Request request);
    void advance(const WorkerPtr& worker);
    void refuse_nonfinite(const Worker& worker, const Request& request, Place place) const;
    void admit(const WorkerPtr& worker, bool wants_model);
    void leave_rounds();
    std::string awaited_by(const Worker& worker) const;
    std::string awaited_at_the_door(const Worker& worker) const;
    void run_local(const WorkerPtr& worker);
    void begin_newcomer(const WorkerPtr& worker);
    void keep_own_model(const WorkerPtr& worker);
    void report_workers(std::vector<control::WorkerReport>& reports) const;

    uint64_t submitted_ = 0;
    JobState state_;
    Rounds rounds_;
    Groups groups_;
    Adoptions adoptions_;
    Vetting vetting_;
    std::unique_ptr<Serving> serving_;  // null unless the job has a parameter server
    // How long the calls that wait had waited when the log last told of them.
    std::map<std::pair<control::Rank, uint64_t>, uint64_t> waits_logged_;
    base::TimePoint unused_since_ = base::now();
    bool ended_here_ = false;
};

}  // namespace pace::daemon
