// Pushes: the updates of this node's workers on their way to the shards of a model.
//
// An update is taken as a whole, cut by shard, and sent to each shard's node. When all shards hold
// it, the controller is told, and gives the update its position in the order. Until this node hears
// of that, it keeps the update, since a new view may find that the update did not arrive. Without
// partition synchronization the controller is told at once, and the update is kept until it is also
// held.
//
// Work that takes long for a large update leaves the event loop (daemon/kernels/strand.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "daemon/families/serving/shards/server_mail.h"
#include "daemon/families/serving/shards/shard_host.h"
#include "daemon/kernels/strand.h"
#include "daemon/members/job_state.h"
#include "daemon/server/small_entries.h"

namespace pace::daemon {

class Pushes {
  public:
    // Updates of a worker that are not ordered yet; with this many, the worker waits. A guess:
    // enough to hide the time to the shards.
    static constexpr size_t kWindow = 4;

    Pushes(JobState& job, ShardHost& host, ServerMail& mail)
        : job_(job), host_(host), mail_(mail), strand_(job.services.aside()) {}

    // Whether another update of the worker can be taken.
    bool has_room(control::Rank rank) const;
    // False: the update of this step was taken already, from a call whose end the trainer may not
    // have heard of. In this case, and after an error, nothing is changed, except that values too
    // small to send may be kept of an update for which there was no memory. ErrorKind::invalid
    // names what is wrong. ErrorKind::aborted: the worker begins at another step than before; the
    // request is to be taken as if it were new.
    using Taken = std::function<void(const base::Result<bool>& taken)>;
    // Takes the update in the request's buffers. Nobody may change these before `taken` is called,
    // perhaps before this returns. One update of a worker at a time.
    void take(control::Rank rank, std::shared_ptr<const Request> request, Taken taken);

    // The clock of the worker's next update.
    uint64_t next_clock(control::Rank rank) const;
    // Whether a view, or the order, has said what next_clock() is.
    bool knows(control::Rank rank) const { return out_.contains(rank); }
    // Sets the worker's step to that of its next update, which may be earlier than before.
    void set_step(Worker& worker) const {
        if (knows(worker.rank)) worker.iteration = next_clock(worker.rank);
    }

    // The nodes, once each, that are not known to hold all of the worker's updates.
    std::vector<NodeId> missing(control::Rank rank) const;

    // The shard holds the update that was sent under this number.
    void held(uint32_t shard, control::Rank rank, uint64_t clock, uint64_t number);
    // This node has heard the order up to this entry.
    void ordered(const control::ServerEntry& entry);
    // The worker is gone, or must begin anew.
    void forget(control::Rank rank);
    // The update that is being taken does not count. The worker's buffers may change from now on.
    void drop_taking(control::Rank rank);

    // A view has committed: sends again what may not have arrived. `anew`: the model is another
    // one, to which no earlier update belongs.
    void commit(bool anew);

  private:
    using Updates = std::vector<server::Shard::Update>;  // by shard
    struct Push {
        Updates parts;
        std::vector<bool> held;
        size_t missing = 0;
        bool ordered = false;
        uint64_t number =
            0;  // another worker of this rank may have pushed for the same clock before
    };
    // By shard, values of a worker's updates that are too small to send. The work that cuts an
    // update uses them.
    using Waiting = std::shared_ptr<std::vector<server::SmallEntries>>;
    struct Out {
        uint64_t life = 0;  // a worker that begins elsewhere has another
        uint64_t next = 0;
        std::map<uint64_t, Push> unordered;  // by clock
        Waiting waiting = std::make_shared<std::vector<server::SmallEntries>>();
    };

    Out& out_of(control::Rank rank);
    base::Result<bool> keep(control::Rank rank, uint64_t life, uint64_t clock, Updates parts);
    void send(control::Rank rank, uint64_t clock, Push& push);
    void post(server::Letter letter, const server::Shard::Update& update);
    bool awaits(const server::Letter& letter) const;
    void tell_held(control::Rank rank) const;
    void tell(control::Rank rank, uint64_t clock) const;

    JobState& job_;
    ShardHost& host_;
    ServerMail& mail_;
    std::map<control::Rank, Out> out_;
    uint64_t lives_ = 0;
    uint64_t pushes_ = 0;
    kernels::Strand strand_;
};

}  // namespace pace::daemon
