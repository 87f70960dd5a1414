// Saving: this node's part in the checkpoints of a server job: the shards that it saves, the copies that it keeps of other nodes', and what
// its workers have asked for.
//
// The order says at which position all shards are saved. A node tells the controller of each of its shards when that is durable, here
// and, with two copies, on the next node too; when all are, the controller says so, and what is older is removed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/exchange/job_state.h"
#include "daemon/exchange/server_mail.h"
#include "daemon/exchange/shard_disk.h"
#include "daemon/exchange/shard_host.h"

namespace pace::daemon {

class Saving {
  public:
    // A worker's request for a checkpoint has ended.
    using Ended = std::function<void(const WorkerPtr&, const Request&, Ending)>;

    Saving(JobState& job, const ShardHost& host, ServerMail& mail, Ended ended);

    // The worker wants a checkpoint with its updates whose clock is below `own`.
    void ask(const WorkerPtr& worker, Request request, uint64_t own);
    // False if it is none of these requests.
    bool cancel(const WorkerPtr& worker, uint64_t id, const Ending& ending);
    // Ends the worker's requests.
    void end_all(const WorkerPtr& worker, const Ending& ending);
    void forget(control::Rank rank) { asked_.erase(rank); }
    // The worker's requests, and below which clock each wants its updates.
    template <typename Visit>
    void for_each_asked(control::Rank rank, Visit visit) const {
        const auto asked = asked_.find(rank);
        if (asked == asked_.end()) return;
        for (const Asked& one : asked->second) visit(one.request, one.own);
    }
    // The worker's updates from clock `own` on do not come: nobody waits for them.
    void lower(control::Rank rank, uint64_t own);

    // The order has come to a checkpoint: the shard is to be saved as it is.
    void save(uint32_t shard, ShardHost::Copy copy, const server::Ledger& ledger);
    void load(uint32_t shard, uint64_t generation, uint64_t position, ShardDisk::Loaded loaded);
    // Another node's shard, of which a copy is to be kept; what became of a copy of this node's.
    void take_copy(NodeId from, const server::Letter& letter, Parcel file);
    // The same of one for which there is no room.
    void refuse_copy(NodeId from, const server::Letter& letter, const base::Error& error);
    void took_copy(NodeId from, const server::Letter& letter);
    void ended(const control::CheckpointEnded& ended);

    // A view has committed, with these nodes, sorted.
    void commit(std::vector<NodeId> nodes);
    // Lists anew what is on this node's disk, and then calls: perhaps before this returns.
    void list(const std::function<void()>& listed);
    const std::vector<control::SavedModel>& listed() const { return listed_; }

  private:
    struct Asked {
        WorkerPtr worker;
        Request request;
        uint64_t own = 0;
    };
    NodeId copy_node() const;
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
    std::vector<NodeId> nodes_;
    std::map<control::Rank, std::vector<Asked>> asked_;
};

}  // namespace pace::daemon
