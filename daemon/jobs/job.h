// Job: this node's workers of one job, and where each of their requests goes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/families/groups/groups.h"
#include "daemon/families/rounds/rounds.h"
#include "daemon/families/serving/serving.h"
#include "daemon/families/vetting/nonfinite.h"
#include "daemon/families/vetting/vetting.h"
#include "daemon/jobs/adoption.h"
#include "daemon/members/job_port.h"
#include "daemon/members/job_state.h"
#include "daemon/members/wait.h"

namespace pace::daemon {

class Job final : private JobPort {
  public:
    Job(Services& services, control::JobOptions options, uint32_t uid);
    // Ends everything that is under way, without telling anyone.
    ~Job() override;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    JobState& state() { return state_; }
    const JobState& state() const { return state_; }
    const Rounds& rounds() const { return rounds_; }

    // Refuses a verb that does not fit the job's family, before anything changes.
    base::Result<> check_verb(protocol::Verb verb) const;

    void add(const WorkerPtr& worker);
    // The worker's trainer was in a job of this name before and had the results of
    // `rounds_untrusted` rounds. It may not know that this job has begun since.
    void came_again(Worker& worker, uint64_t rounds_untrusted) {
        if (serving_) serving_->came_again(worker);
        worker.rounds_told_untrusted = rounds_untrusted;
        worker.unaware = !worker.newcomer && may_have_other_rounds(worker);
    }
    // Whether the worker's session had rounds of a job of this name that nobody remembers.
    bool may_have_other_rounds(const Worker& worker) const {
        return worker.rounds_told_untrusted > 0 &&
               protocol::family_of(state_.options.policy) == control::Family::collective;
    }
    // Whether the request, which is not submitted yet, is a sum that may be made on the GPU where
    // its buffers are.
    bool sums_on_device(const Worker& worker, const Request& request) const;
    void submit(const WorkerPtr& worker, Request request);
    void cancel(const WorkerPtr& worker, uint64_t id);
    void announce(const WorkerPtr& worker, uint64_t iteration) {
        groups_.announce(worker, iteration);
    }
    void take_back(const WorkerPtr& worker) { groups_.take_back(*worker); }
    void ready(const WorkerPtr& worker, uint64_t id, uint64_t elements);
    // The controller knows of no view. A view that this node was in, and in which it has no worker
    // any more, is void.
    void begin_anew();
    // The trainer has left, or is gone. A request of the worker that is in an exchange ends there.
    void remove(const WorkerPtr& worker);
    bool unused() const { return state_.workers.empty(); }
    // When the job's last worker on this node left.
    base::TimePoint unused_since() const { return unused_since_; }
    // Whether an exchange among nodes is under way, also one of workers that have left, or
    // something is being given to nodes that lack it.
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
    // Nobody needs what this node has of the job, which has no worker here.
    void end_part() {
        if (serving_) serving_->forget();
        ended_here_ = true;
    }
    bool has_ended_here() const { return ended_here_; }
    // `anew`: the job has begun anew without the worker.
    void suspend(control::Rank rank, const std::string& reason, bool anew = false);
    // The worker has left the job because an operator drains this node. Its calls end, and later
    // calls fail.
    void drain(control::Rank rank, const std::string& reason);
    // No daemon has the model that the worker asked for.
    void no_model(control::Rank rank);
    void withdrawn(control::Rank rank);
    // The controller does not let the worker in again.
    void refuse(const WorkerPtr& worker, const base::Error& error);

    // The daemon is attached again: what the controller must hear about the worker.
    control::WorkerJoin announcement(const Worker& worker) const;
    // The controller has accepted the worker again.
    void resumed(const WorkerPtr& worker, bool under_way);
    // Orders of an earlier attachment's controller may be known on this node alone.
    void attached_anew() { groups_.attached_anew(); }
    // There was no memory for a message about the job, or for something that the job began. What is
    // under way here ends, and the job goes on in another view.
    void run_out_of_memory();
    // The daemon was excluded, or is stopping: every view, order and exchange is void.
    void invalidate(const base::Error& error);

    // The requests of its workers here that have waited for at least `least`.
    std::vector<Wait> waits(uint64_t now_ns, base::Duration least) const;
    // Tells trainers what their calls wait for, if these have waited for long. Also logs this, at
    // growing intervals.
    void tell_waits(uint64_t now_ns);

    // Reports the state of the workers, and the static groups that have ended.
    void report(control::Heartbeat& ret_heartbeat) {
        report_workers(ret_heartbeat.workers);
        groups_.report(ret_heartbeat.groups);
    }
    // Called a few times a second. Returns the nodes whose messages the job has long waited for.
    std::vector<NodeId> look_again() {
        return serving_ ? serving_->look_again() : std::vector<NodeId>();
    }

  private:
    void take(const WorkerPtr& worker, Request request);
    void advance(const WorkerPtr& worker) override;
    void group_begins(const std::vector<NodeId>& nodes) override { rounds_.met(nodes); }
    Scratch round_memory() override { return rounds_.spare_memory(); }
    std::optional<uint64_t> model_round(const Worker& worker) override {
        return rounds_.model_round(worker);
    }
    void adopted(const Worker& newcomer, uint64_t round) override {
        rounds_.adopted(newcomer, round);
    }
    void departed(const Worker& worker) override { rounds_.departed(worker); }
    std::shared_ptr<Scratch> place_for_model(const std::vector<BufferPtr>& buffers) override {
        return serving_ ? serving_->place_for_model(buffers) : nullptr;
    }
    void broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers,
                     const std::shared_ptr<Scratch>& copy) override {
        if (serving_) serving_->broadcasted(round, buffers, copy);
    }
    void before_server_report(const std::function<void()>& then) override {
        if (serving_)
            serving_->list_saved(then);
        else
            then();
    }
    control::ServerReport server_report() override {
        return serving_ ? serving_->report() : control::ServerReport();
    }
    void refuse_nonfinite(const Worker& worker, const Request& request, Place place) const;
    void admit(const WorkerPtr& worker, bool wants_model);
    // What newcomers with a broadcast do in the view that has them as members.
    struct TakenIn {
        std::vector<WorkerPtr> keep_own;      // go on with their own models
        std::vector<WorkerPtr> wait_for_all;  // broadcast with all the others
    };
    TakenIn take_in(const control::CommitView& view);
    void leave_rounds();
    std::string awaited_by(const Worker& worker) const;
    std::string awaited_at_the_door(const Worker& worker) const;
    void begin_member(const WorkerPtr& worker);
    void run_local(const WorkerPtr& worker);
    void begin_newcomer(const WorkerPtr& worker);
    void keep_own_model(const WorkerPtr& worker);
    void report_workers(std::vector<control::WorkerReport>& reports) const;
    void begin_as_first(const WorkerPtr& worker);
    void leave_behind(const WorkerPtr& worker);
    void go_on(const WorkerPtr& worker);

    uint64_t submitted_ = 0;
    JobState state_;
    Rounds rounds_;
    Groups groups_;
    Adoptions adoptions_;
    Vetting vetting_;
    std::unique_ptr<Serving> serving_;  // null unless the job has a parameter server
    // How long each waiting call had waited when the log last told of it.
    std::map<std::pair<control::Rank, uint64_t>, uint64_t> waits_logged_;
    base::TimePoint unused_since_ = base::now();
    bool ended_here_ = false;
};

}  // namespace pace::daemon
