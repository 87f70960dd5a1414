// Pushes: the updates of this node's workers on their way to the shards of a model.
//
// An update is taken as a whole, cut by shard, and sent to the node of each. When all shards hold it, the controller is told,
// and gives it its place in the order. Until that is heard it is kept here: another view may find that it did not arrive. Without
// partition synchronization the controller is told at once, and an update is kept until it is held, too.
//
// What takes long for a large update leaves the event loop (daemon/kernels/strand.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "daemon/exchange/job_state.h"
#include "daemon/exchange/server_mail.h"
#include "daemon/exchange/shard_host.h"
#include "daemon/kernels/strand.h"
#include "daemon/server/small_entries.h"

namespace pace::daemon {

class Pushes {
  public:
    // Of a worker, that are not ordered yet: then it has to wait. A guess: enough to hide the way there.
    static constexpr size_t kWindow = 4;

    Pushes(JobState& job, ShardHost& host, ServerMail& mail)
        : job_(job), host_(host), mail_(mail), strand_(job.services.aside()) {}

    // Whether another update of the worker can be taken.
    bool has_room(control::Rank rank) const;
    // False: it has that of this step already, from a call whose end the trainer may not have heard of. Nothing is changed then, nor with an
    // error, except that what is too small to send may be kept of an update for which there was no memory. ErrorKind::invalid, naming what is wrong. ErrorKind::aborted: the worker begins elsewhere than it did; the request is to be
    // taken as if it were new.
    using Taken = std::function<void(const base::Result<bool>& taken)>;
    // Takes the update that the request's buffers hold, which nobody is to change until `taken` is called: perhaps before this returns.
    // One of a worker at a time.
    void take(control::Rank rank, std::shared_ptr<const Request> request, Taken taken);

    // Its next update is of this clock.
    uint64_t next_clock(control::Rank rank) const;
    // A view, or the order, has said which that is.
    bool knows(control::Rank rank) const { return out_.contains(rank); }

    // The nodes, once each, that are not known to hold all of the worker's updates.
    std::vector<NodeId> missing(control::Rank rank) const;

    // The shard holds the update that was sent under this number.
    void held(uint32_t shard, control::Rank rank, uint64_t clock, uint64_t number);
    // The order has been heard to here.
    void ordered(const control::ServerEntry& entry);
    // The worker is gone, or must begin anew.
    void forget(control::Rank rank);
    // What of the worker is being taken does not count. Its buffers may be changed from now on.
    void drop_taking(control::Rank rank);

    // A view has committed: sends again what may not have arrived. `anew`: the model is another one, to which no update belongs.
    void commit(bool anew);

  private:
    using Updates = std::vector<server::Shard::Update>;  // by shard
    struct Push {
        Updates parts;
        std::vector<bool> held;
        size_t missing = 0;
        bool ordered = false;
        uint64_t number =
            0;  // another worker of the rank may have pushed for the same clock before
    };
    // What of a worker's updates is too small to send, by shard. Whoever cuts one has it.
    using Waiting = std::shared_ptr<std::vector<server::SmallEntries>>;
    struct Out {
        uint64_t life = 0;  // another one begins elsewhere
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
