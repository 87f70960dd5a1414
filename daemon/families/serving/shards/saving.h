// Saving: this node's part in the checkpoints of a server job: the shards that it saves, the copies
// of other nodes' shards that it keeps, and the checkpoints that its workers have asked for.
//
// The order says at which position all shards are saved. A node tells the controller when one of
// its shards is durable, with two copies also on the next node. When all shards are durable, the
// controller says so, and older checkpoints are removed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/families/serving/shards/copies.h"
#include "daemon/families/serving/shards/server_mail.h"
#include "daemon/families/serving/shards/shard_disk.h"
#include "daemon/families/serving/shards/shard_host.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class Saving {
  public:
    // A worker's request for a checkpoint has ended.
    using Ended = std::function<void(const WorkerPtr&, const Request&, Ending)>;

    Saving(JobState& job, const ShardHost& host, ServerMail& mail, Ended ended);

    // The worker wants a checkpoint with its updates whose clock is below `own`.
    void ask(const WorkerPtr& worker, Request request, uint64_t own);
    // Ends one of these requests; false if `id` is none of them.
    bool cancel(const WorkerPtr& worker, uint64_t id, const Ending& ending);
    // Ends all of these requests of the worker.
    void end_all(const WorkerPtr& worker, const Ending& ending);
    void forget(control::Rank rank) { asked_.erase(rank); }
    // Visits the worker's requests, and for each the clock below which it wants the worker's
    // updates.
    template <typename Visit>
    void for_each_asked(control::Rank rank, Visit visit) const {
        const auto asked = asked_.find(rank);
        if (asked == asked_.end()) return;
        for (const Asked& one : asked->second) visit(one.request, one.own);
    }
    // The worker's updates from clock `own` on do not come: no request waits for them.
    void lower(control::Rank rank, uint64_t own);

    // The order has come to a checkpoint: saves the shard as it is.
    void save(uint32_t shard, ShardHost::Copy copy, const server::Ledger& ledger);
    void load(uint32_t shard, uint64_t generation, uint64_t position, ShardDisk::Loaded loaded);
    // The order has come to a checkpoint.
    void ordered(uint64_t position) { copies_.ordered(position); }
    // Another node sends its shard: whether a copy is to be kept here. Error: corrupt.
    base::Result<> check_copy(NodeId from, const server::Letter& letter);
    // Another node has sent its shard, of which a copy is to be kept.
    void take_copy(NodeId from, const server::Letter& letter, Parcel file);
    // As take_copy(), of a copy for which there is no room.
    void refuse_copy(NodeId from, const server::Letter& letter, const base::Error& error);
    // Another node says what became of the copy of this node's shard.
    void took_copy(NodeId from, const server::Letter& letter);
    void ended(const control::CheckpointEnded& ended);

    // A view has committed, with these nodes, sorted.
    void commit(std::vector<NodeId> nodes);
    // Lists anew what is on this node's disk, and then calls `listed`, perhaps before this returns.
    void list(const std::function<void()>& listed);
    const std::vector<control::SavedModel>& listed() const { return listed_; }

  private:
    struct Asked {
        WorkerPtr worker;
        Request request;
        uint64_t own = 0;
    };
    void answer_copy(NodeId from, const server::Letter& letter, const base::Result<>& kept);
    void saved(const server::Checkpoint& about, base::Result<std::vector<std::byte>> file);
    void tell(uint32_t shard, uint64_t position, const std::string& failure);
    void tell_asked(control::Rank rank) const;

    JobState& job_;
    const ShardHost& host_;
    ServerMail& mail_;
    Ended ended_;
    ShardDisk disk_;
    std::vector<control::SavedModel> listed_;
    Copies copies_;
    std::map<control::Rank, std::vector<Asked>> asked_;
};

}  // namespace pace::daemon
