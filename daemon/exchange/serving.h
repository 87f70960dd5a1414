// Serving: this node's part in a server job: the pushes and pulls of its workers, the shards that it keeps, and the letters between both.
//
// The order in which all this happens to the model is the controller's (service/controller/core/server.h); a node only brings updates to
// the shards, says so, and acts upon what it hears.
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

#include "daemon/exchange/job_state.h"
#include "daemon/exchange/pulls.h"
#include "daemon/exchange/pushes.h"
#include "daemon/exchange/saving.h"
#include "daemon/exchange/server_mail.h"
#include "daemon/exchange/shard_host.h"
#include "daemon/kernels/strand.h"

namespace pace::daemon {

class Serving {
  public:
    explicit Serving(JobState& job);

    // A push, which waits for no other request of its worker: it ends when its update is taken.
    void push(const WorkerPtr& worker, Request request);
    // The worker's first request is a pull.
    void pull(const WorkerPtr& worker);
    // The worker's first request asks for the model before it can know at which step it is: it gets it as soon as it is a member. False: its
    // buffers are not the model's, and it has ended.
    bool join(const WorkerPtr& worker);
    // The worker's first request is a broadcast, although all have a model: it gets that.
    bool is_rolled_back(control::Rank rank) const { return rolled_back_.contains(rank); }
    // The worker's first request is a broadcast of a model that is lost, whose root is not a member yet: after everyone has lost its place
    // they come back one by one. It is held, for a while.
    bool awaits_root(const Worker& worker) const;
    // Called a few times a second: what has been held for too long goes on, and a view is asked for where letters do not come. Returns the
    // nodes that it waits for, and has for a while.
    std::vector<NodeId> look_again(base::TimePoint now = base::now());
    void begin_pull(const WorkerPtr& worker);
    // Its trainer has been in a job of this name through a daemon that is gone: it is told when it is to begin anew.
    void came_again(const Worker& worker) { unaware_.insert(worker.rank); }
    // Like a push; it ends when there is a checkpoint with the worker's updates so far.
    void checkpoint(const WorkerPtr& worker, Request request);
    void ended(const control::CheckpointEnded& ended) { saving_.ended(ended); }
    // False if it is none of this part's requests, or one that has begun.
    bool cancel(const WorkerPtr& worker, uint64_t id, const std::string& message);
    // The trainer has canceled its pull; withdrawn() or the model follows.
    void withdraw(const WorkerPtr& worker);
    void withdrawn(control::Rank rank);

    // A round of pace_broadcast of so many elements begins. Memory that is to get them besides, one after the other, if it becomes the model;
    // null: the model is taken from the buffers.
    std::shared_ptr<Scratch> place_for_model(const std::vector<BufferPtr>& buffers);
    // The round has been committed here. `copy`: what place_for_model() has returned, if it was for that round.
    void broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers,
                     const std::shared_ptr<Scratch>& copy);

    void order(const control::ServerOrder& order);
    // With the checkpoints that were listed last.
    control::ServerReport report();
    void list_saved(const std::function<void()>& listed) { saving_.list(listed); }
    // The view is in the JobState already.
    void commit(const control::CommitView& view);
    // This node was excluded, or stops: nothing goes to others until there is another view.
    void invalidate(const base::Error& error);

    // The worker's trainer is gone.
    void left(const Worker& worker);
    void suspend(const WorkerPtr& worker, const std::string& reason);
    // Ends its pushes that wait, and checkpoints.
    void end_asides(const WorkerPtr& worker, const Ending& ending);

    // For what the worker's first request waits, in words: the model.
    std::string awaited(const Worker& worker) const;
    // The worker's pushes that are not taken yet, and its checkpoints, and for what each waits.
    void for_each_aside(
        control::Rank rank,
        const std::function<void(const Request&, const std::string& what)>& visit) const;

    const ShardHost& host() const { return host_; }
    bool keeps_shards() const { return host_.keeps_any(); }
    // The job is over.
    void forget();
    // What this node has of the model is of no use any more: another view finds that it is lost.
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
    std::map<control::Rank, RequestPtr> taking_;            // the one before those, if it has begun
    // Of the last model that a view has named, also when what this node had of it was of no use. 0: none yet.
    uint64_t generation_ = 0;
    uint64_t view_position_ = 0;          // of the order, at which the view begins
    std::optional<base::Error> no_room_;  // for a shard that this node is to keep
    bool lost_ = false;                   // the model; everyone is to broadcast it anew
    // A round that is to be the model, until the order says that it is: the controller may be another one by then.
    std::optional<uint64_t> assigning_;
    // The last round that is, by the order, which may be quicker than this node's own part of that round.
    std::optional<uint64_t> assigned_;
    std::optional<base::TimePoint> awaits_model_since_;
    // Members whose request is from before they were.
    std::set<control::Rank> joining_;
    // They go on where another job of this name was, until they have a model of this one.
    std::set<control::Rank> unaware_;
    // The model is a checkpoint's again, and they have not asked for it since.
    std::set<control::Rank> rolled_back_;
    kernels::Strand reading_;  // updates that have come from other nodes
};

}  // namespace pace::daemon
