// Serving: this node's part in a server job: the pushes and pulls of its workers, the shards that it keeps, and the letters between both.
//
// The order in which all this happens to the model is the controller's (service/controller/core/server.h); a node only brings updates to
// the shards, says so, and acts upon what it hears.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/exchange/job_state.h"
#include "daemon/exchange/pulls.h"
#include "daemon/exchange/pushes.h"
#include "daemon/exchange/saving.h"
#include "daemon/exchange/server_mail.h"
#include "daemon/exchange/shard_host.h"

namespace pace::daemon {

class Serving {
  public:
    explicit Serving(JobState& job);

    // A push, which waits for no other request of its worker: it ends when its update is taken.
    void push(const WorkerPtr& worker, Request request);
    // The worker's first request is a pull.
    void pull(const WorkerPtr& worker);
    // The worker's first request is a broadcast, although all have a model: it gets that.
    bool is_rolled_back(control::Rank rank) const { return rolled_back_.contains(rank); }
    void begin_pull(const WorkerPtr& worker);
    // Like a push; it ends when there is a checkpoint with the worker's updates so far.
    void checkpoint(const WorkerPtr& worker, Request request);
    void ended(const control::CheckpointEnded& ended) { saving_.ended(ended); }
    // False if it is none of this part's requests, or one that has begun.
    bool cancel(const WorkerPtr& worker, uint64_t id, const std::string& message);
    // The trainer has canceled its pull; withdrawn() or the model follows.
    void withdraw(const WorkerPtr& worker);
    void withdrawn(control::Rank rank);

    // A round of pace_broadcast has been committed here.
    void broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers);

    void order(const control::ServerOrder& order);
    // Blocks for the disk, briefly.
    control::ServerReport report();
    // The view is in the JobState already.
    void commit(const control::CommitView& view);
    // This node was excluded, or stops: nothing goes to others until there is another view.
    void invalidate(const base::Error& error);

    // The worker's trainer is gone.
    void left(const Worker& worker);
    void suspend(const WorkerPtr& worker, const std::string& reason);
    // Ends its pushes that wait, and checkpoints.
    void end_asides(const WorkerPtr& worker, const Ending& ending);

    const ShardHost& host() const { return host_; }
    bool keeps_shards() const { return host_.keeps_any(); }
    // The job is over.
    void forget();

  private:
    static constexpr const char* kLost =
        "a node that kept a part of the model is gone, and the model with it; call pace_broadcast, "
        "which makes the root's the model";
    static constexpr const char* kRestored =
        "the model is that of a checkpoint again, since a node that kept a part of it is gone; "
        "call pace_broadcast or pace_pull for it and go on from info.iteration";

    bool fetches(const control::CommitView& view, uint64_t round) const;
    bool has_view() const { return host_.generation() != 0 && job_.view.epoch != 0; }
    bool is_model(const std::vector<BufferPtr>& buffers) const;
    void try_pushes(const WorkerPtr& worker);
    const char* refusal(const Worker& worker) const;
    void end_aside(const WorkerPtr& worker, const Request& request, Ending ending) const;
    void end_push(const WorkerPtr& worker, const Request& request, const Ending& ending);
    void load(uint32_t shard, uint64_t generation, uint64_t position);
    void roll_back(const WorkerPtr& worker, bool first);
    void ask(const WorkerPtr& worker);
    uint64_t next_clock(control::Rank rank) const;
    void pulled(const WorkerPtr& worker, uint64_t position, uint64_t slowest);
    void heard(const std::vector<control::ServerEntry>& entries);
    void check(const base::Result<>& result);

    void deliver(ShardHost::Part part);
    void received(NodeId from, const server::Letter& letter, std::vector<std::byte> elements);
    base::Result<> take(NodeId from, const server::Letter& letter, std::vector<std::byte> elements);
    void give_model(uint64_t round, const std::vector<BufferPtr>& buffers);

    JobState& job_;
    ShardHost host_;
    ServerMail mail_;
    Pushes pushes_;
    Pulls pulls_;
    Saving saving_;
    std::map<control::Rank, std::deque<Request>> waiting_;  // pushes
    bool lost_ = false;  // the model; everyone is to broadcast it anew
    // The model is a checkpoint's again, and they have not asked for it since.
    std::set<control::Rank> rolled_back_;
};

}  // namespace pace::daemon
