// Serving: this node's part in a server job: its workers' pushes and pulls, the shards that it
// keeps, and the messages between both.
//
// The controller decides in which order pushes and pulls happen to the model
// (service/controller/core/serving/server.h). A node only brings updates to the shards, says so,
// and acts upon what it hears.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/families/serving/given_model.h"
#include "daemon/families/serving/model_letters.h"
#include "daemon/families/serving/pull_calls.h"
#include "daemon/families/serving/shards/saving.h"

namespace pace::daemon {

class Serving final : private PushQueue::Owner, private ModelLetters::Owner {
  public:
    explicit Serving(JobState& job);
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

    // A push, which waits for no other request of its worker: it ends when its update is taken.
    void push(const WorkerPtr& worker, Request request);
    // The worker's first request is a pull.
    void pull(const WorkerPtr& worker) { pull_calls_.pull(worker); }
    // The worker's first request asks for the model before it is known at which step the worker is.
    // It gets the model as soon as the worker is a member. False: its buffers are not the model's,
    // and it has ended.
    bool join(const WorkerPtr& worker) { return pull_calls_.join(worker); }
    // There is no model yet: the broadcast of a worker that joins is part of the first round.
    // False: the worker waits for nothing of the kind.
    bool leave_pull(Worker& worker) { return pull_calls_.leave_pull(worker); }
    // Whether the worker has not asked for the model since it was restored from a checkpoint. Its
    // broadcast gets that model then, although all have one.
    bool is_rolled_back(control::Rank rank) const { return standings_.is_rolled_back(rank); }
    // Whether the worker's first request is a broadcast of a lost model, whose root is not a member
    // yet: after all workers have lost their places they come back one by one. The request is held
    // for a while.
    bool awaits_root(const Worker& worker) const { return pull_calls_.awaits_root(worker); }
    // Called a few times a second. Requests that were held for too long go on, and a view is asked
    // for where messages do not come. Returns the nodes that this node has long waited for.
    std::vector<NodeId> look_again(base::TimePoint now = base::now());
    void begin_pull(const WorkerPtr& worker) { pull_calls_.begin_pull(worker); }
    // The worker's trainer was in a job of this name through a daemon that is gone. It is told when
    // it must begin anew.
    void came_again(const Worker& worker) { standings_.came_again(worker.rank); }
    // As a push; it ends when there is a checkpoint with the worker's updates so far.
    void checkpoint(const WorkerPtr& worker, Request request);
    void ended(const control::CheckpointEnded& ended) { saving_.ended(ended); }
    // False if `id` is none of this part's requests, or one that has begun.
    bool cancel(const WorkerPtr& worker, uint64_t id, const std::string& message);
    // The trainer has canceled its pull; withdrawn() or the model follows.
    void withdraw(const WorkerPtr& worker) { pull_calls_.withdraw(worker); }
    void withdrawn(control::Rank rank) { pull_calls_.withdrawn(rank); }

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
    std::string awaited(const Worker& worker) const { return pull_calls_.awaited(worker); }
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
    // PushQueue::Owner and ModelLetters::Owner.
    void push_ended(const WorkerPtr& worker, const Request& request, const Ending& ending) override;
    void update_held(const WorkerPtr& worker) override { queue_.go_on(worker); }
    void part_failed(const base::Error& error) override;
    void has_no_room(const base::Error& error) override;

    void end_aside(const WorkerPtr& worker, const Request& request, Ending ending) const;
    void letters_broken(NodeId node, const base::Error& error);
    void load(uint32_t shard, uint64_t generation, uint64_t position);
    void failed_late(const base::Error& error);
    void check(const base::Result<>& result);

    bool fetches(const control::CommitView& view, uint64_t round) const;
    void learn_model(const control::CommitView& view);
    std::vector<NodeId> nodes_of_model(const control::CommitView& view) const;
    void go_on(bool restored, bool first);
    void roll_back(const WorkerPtr& worker, bool first);
    void heard(const std::vector<control::ServerEntry>& entries);
    void assigned(uint64_t round);

    JobState& job_;
    ShardHost host_;
    ServerMail mail_;
    Standings standings_;
    Pushes pushes_;
    PushQueue queue_;
    Pulls pulls_;
    PullCalls pull_calls_;
    Saving saving_;
    GivenModel given_;
    // The generation of the last model that a view has named, even if this node's part of it was of
    // no use. 0: none yet.
    uint64_t generation_ = 0;
    ModelLetters letters_;
};

}  // namespace pace::daemon
