// Serving: this node's part in a server job: its workers' pushes and pulls, the shards that it
// keeps, and the messages between both.
//
// The controller decides in which order pushes and pulls happen to the model
// (service/controller/core/server.h). A node only brings updates to the shards, says so, and acts
// upon what it hears.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/families/serving/pulls.h"
#include "daemon/families/serving/pushes.h"
#include "daemon/families/serving/saving.h"
#include "daemon/families/serving/server_mail.h"
#include "daemon/families/serving/shard_host.h"
#include "daemon/kernels/strand.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class Serving {
  public:
    explicit Serving(JobState& job);

    // A push, which waits for no other request of its worker: it ends when its update is taken.
    void push(const WorkerPtr& worker, Request request);
    // The worker's first request is a pull.
    void pull(const WorkerPtr& worker);
    // The worker's first request asks for the model before it is known at which step the worker is.
    // It gets the model as soon as the worker is a member. False: its buffers are not the model's,
    // and it has ended.
    bool join(const WorkerPtr& worker);
    // There is no model yet: the broadcast of a worker that joins is part of the first round.
    // False: the worker waits for nothing of the kind.
    bool leave_pull(Worker& worker);
    // Whether the worker has not asked for the model since it was restored from a checkpoint. Its
    // broadcast gets that model then, although all have one.
    bool is_rolled_back(control::Rank rank) const { return rolled_back_.contains(rank); }
    // Whether the worker's first request is a broadcast of a lost model, whose root is not a member
    // yet: after all workers have lost their places they come back one by one. The request is held
    // for a while.
    bool awaits_root(const Worker& worker) const;
    // Called a few times a second. Requests that were held for too long go on, and a view is asked
    // for where messages do not come. Returns the nodes that this node has long waited for.
    std::vector<NodeId> look_again(base::TimePoint now = base::now());
    void begin_pull(const WorkerPtr& worker);
    // The worker's trainer was in a job of this name through a daemon that is gone. It is told when
    // it must begin anew.
    void came_again(const Worker& worker) { unaware_.insert(worker.rank); }
    // As a push; it ends when there is a checkpoint with the worker's updates so far.
    void checkpoint(const WorkerPtr& worker, Request request);
    void ended(const control::CheckpointEnded& ended) { saving_.ended(ended); }
    // False if `id` is none of this part's requests, or one that has begun.
    bool cancel(const WorkerPtr& worker, uint64_t id, const std::string& message);
    // The trainer has canceled its pull; withdrawn() or the model follows.
    void withdraw(const WorkerPtr& worker);
    void withdrawn(control::Rank rank);

    // A round of pace_broadcast of these buffers begins. Returns memory that also gets them, one
    // after the other, if they become the model; null: the model is taken from the buffers.
    std::shared_ptr<Scratch> place_for_model(const std::vector<BufferPtr>& buffers);
    // The round has been committed here. `copy`: the memory that place_for_model() returned, if it
    // was for that round.
    void broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers,
                     const std::shared_ptr<Scratch>& copy);

    void order(const control::ServerOrder& order);
    // Includes the checkpoints that were listed last.
    control::ServerReport report();
    void list_saved(const std::function<void()>& listed) { saving_.list(listed); }
    // The view is in the JobState already.
    void commit(const control::CommitView& view);
    // This node was excluded, or stops: nothing is sent to others until there is another view.
    void invalidate(const base::Error& error);

    // The worker's trainer is gone.
    void left(const Worker& worker);
    void suspend(const WorkerPtr& worker, const std::string& reason);
    // Ends the worker's waiting pushes, and its checkpoints.
    void end_asides(const WorkerPtr& worker, const Ending& ending);

    // In words, what the worker's first request waits for: the model.
    std::string awaited(const Worker& worker) const;
    // Visits the worker's pushes that are not taken yet, its checkpoints, and what each waits for.
    void for_each_aside(
        control::Rank rank,
        const std::function<void(const Request&, const std::string& what)>& visit) const;

    const ShardHost& host() const { return host_; }
    bool keeps_shards() const { return host_.keeps_any(); }
    // The job is over.
    void forget();
    // This node's part of the model is of no use any more: another view finds that the model is
    // lost.
    void give_up();

  private:
    static constexpr const char* kLost =
        "a node that kept a part of the model is gone, and the model with it; call pace_broadcast, "
        "which makes the root's the model";
    static constexpr const char* kRestored =
        "the model is that of a checkpoint again, since a node that kept a part of it is gone; "
        "call pace_broadcast or pace_pull for it and go on from info.iteration";
    static constexpr const char* kBeganAnew =
        "the job has begun anew, since every daemon that knew of it was gone, and so have its "
        "steps; call "
        "pace_broadcast, which makes the root's the model, and go on from info.iteration";

    using RequestPtr = std::shared_ptr<const Request>;

    bool fetches(const control::CommitView& view, uint64_t round) const;
    void learn_model(const control::CommitView& view);
    std::vector<NodeId> nodes_of_model(const control::CommitView& view) const;
    void resume(const WorkerPtr& worker);
    void lose_pull(const WorkerPtr& worker);
    bool has_view() const { return host_.generation() != 0 && job_.view.epoch != 0; }
    bool is_model(const std::vector<BufferPtr>& buffers) const;
    std::string slow_workers(uint64_t clock) const;
    std::string nodes_of_updates(control::Rank rank) const;
    void try_pushes(const WorkerPtr& worker);
    void took(const WorkerPtr& worker, const RequestPtr& request, const base::Result<bool>& taken);
    void learn_step(Worker& worker) const;
    std::vector<NodeId> watch_letters(base::TimePoint now);
    void want_view(const std::string& reason, base::Duration silent);
    const char* refusal(const Worker& worker) const;
    void end_aside(const WorkerPtr& worker, const Request& request, Ending ending) const;
    void end_push(const WorkerPtr& worker, const Request& request, const Ending& ending);
    void load(uint32_t shard, uint64_t generation, uint64_t position);
    void roll_back(const WorkerPtr& worker, bool first);
    std::optional<Ending> refused_pull(const Worker& worker) const;
    bool joins(const Worker& worker) const;
    void ask(const WorkerPtr& worker);
    bool has_fallen_behind(const Worker& worker) const;
    void ask_if_fits(const WorkerPtr& worker);
    uint64_t next_clock(control::Rank rank) const;
    void pulled(const WorkerPtr& worker, uint64_t position, uint64_t slowest);
    void heard(const std::vector<control::ServerEntry>& entries);
    void expect_parts(const control::ServerEntry& entry);
    void assigned(uint64_t round);
    void check(const base::Result<>& result);
    void failed_late(const base::Error& error);
    void has_no_room(const base::Error& error);

    void deliver(ShardHost::Part part);
    void received(NodeId from, const server::Letter& letter, Parcel parcel);
    base::Result<> take(NodeId from, const server::Letter& letter, Parcel parcel);
    void read_update(NodeId from, const server::Letter& letter, Parcel parcel);
    void refused(NodeId from, const server::Letter& letter, const base::Error& error);
    void makes_no_sense(NodeId from, const base::Error& error) const;
    void hold(NodeId from, const server::Letter& letter, server::Shard::Update update);
    bool gives_model(uint32_t shard) const;
    bool gives_any() const;
    void give_model(uint64_t round, const std::vector<BufferPtr>& buffers,
                    const std::shared_ptr<Scratch>& copy);
    void tell_assigning();

    JobState& job_;
    ShardHost host_;
    ServerMail mail_;
    Pushes pushes_;
    Pulls pulls_;
    Saving saving_;
    std::map<control::Rank, std::deque<Request>> waiting_;  // pushes
    std::map<control::Rank, RequestPtr> taking_;  // the push before those, if it has begun
    // The generation of the last model that a view has named, even if this node's part of it was of
    // no use. 0: none yet.
    uint64_t generation_ = 0;
    uint64_t view_position_ = 0;          // of the order, at which the view begins
    std::optional<base::Error> no_room_;  // for a shard that this node is to keep
    bool lost_ = false;                   // the model is lost; all workers must broadcast it anew
    // A round that is to become the model, until the order says so: the controller may be another
    // one by then.
    std::optional<uint64_t> assigning_;
    // The last round that is the model, by the order, which may be ahead of this node's own part of
    // that round.
    std::optional<uint64_t> assigned_;
    std::optional<base::TimePoint> awaits_model_since_;
    // Members whose request is from before they were members.
    std::set<control::Rank> joining_;
    // Workers that go on from another job of this name, until they have a model of this job.
    std::set<control::Rank> unaware_;
    // Workers that have not asked for the model since it was restored from a checkpoint.
    std::set<control::Rank> rolled_back_;
    kernels::Strand reading_;  // updates that have come from other nodes
};

}  // namespace pace::daemon
