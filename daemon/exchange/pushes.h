// Pushes: the updates of this node's workers on their way to the shards of a model.
//
// An update is taken as a whole, cut by shard, and sent to the node of each. When all shards hold it, the controller is told,
// and gives it its place in the order. Until that is heard it is kept here: another view may find that it did not arrive. Without
// partition synchronization the controller is told at once, and an update is kept until it is held, too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "daemon/exchange/job_state.h"
#include "daemon/exchange/server_mail.h"
#include "daemon/exchange/shard_host.h"
#include "daemon/server/small_entries.h"

namespace pace::daemon {

class Pushes {
  public:
    // Of a worker, that are not ordered yet: then it has to wait. A guess: enough to hide the way there.
    static constexpr size_t kWindow = 4;

    Pushes(JobState& job, ShardHost& host, ServerMail& mail)
        : job_(job), host_(host), mail_(mail) {}

    // Whether another update of the worker can be taken.
    bool has_room(control::Rank rank) const;
    // Takes the update that the request's buffers hold. False: it has that of this step already, from a call whose end the trainer may not
    // have heard of, and nothing is changed. ErrorKind::invalid, naming what is wrong; nothing is changed then.
    base::Result<bool> take(control::Rank rank, const Request& request);

    // Its next update is of this clock.
    uint64_t next_clock(control::Rank rank) const;
    // A view, or the order, has said which that is.
    bool knows(control::Rank rank) const { return out_.contains(rank); }

    // The shard holds the update that was sent under this number.
    void held(uint32_t shard, control::Rank rank, uint64_t clock, uint64_t number);
    // The order has been heard to here.
    void ordered(const control::ServerEntry& entry);
    // The worker is gone, or must begin anew.
    void forget(control::Rank rank);

    // A view has committed: sends again what may not have arrived. `anew`: the model is another one, to which no update belongs.
    void commit(bool anew);

  private:
    struct Push {
        std::vector<server::Shard::Update> parts;  // by shard
        std::vector<bool> held;
        size_t missing = 0;
        bool ordered = false;
        uint64_t number =
            0;  // another worker of the rank may have pushed for the same clock before
    };
    struct Out {
        uint64_t next = 0;
        std::map<uint64_t, Push> unordered;         // by clock
        std::vector<server::SmallEntries> waiting;  // by shard
    };

    base::Result<std::vector<server::HybridVector>> cut(const Request& request) const;
    void send(control::Rank rank, uint64_t clock, Push& push);
    void tell_if_held(control::Rank rank, uint64_t clock, const Push& push) const;

    JobState& job_;
    ShardHost& host_;
    ServerMail& mail_;
    std::map<control::Rank, Out> out_;
    uint64_t pushes_ = 0;
};

}  // namespace pace::daemon
