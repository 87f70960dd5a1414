// Standings: why calls of workers are not taken in a server job: the model is lost, or is another
// one than a worker knows, or this node has no part of a model.
#pragma once

#include <optional>
#include <set>

#include "daemon/families/serving/shards/shard_host.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class Standings {
  public:
    static constexpr const char* kLost =
        "a node that kept a part of the model is gone, and the model with it; call pace_broadcast, "
        "which makes the root's the model";
    static constexpr const char* kRestored =
        "the model is that of a checkpoint again, since a node that kept a part of it is gone; "
        "call pace_broadcast or pace_pull for it and go on from info.iteration";

    Standings(const JobState& job, const ShardHost& host) : job_(job), host_(host) {}

    // Whether there is a view in which nodes keep the model. Calls wait for that.
    bool has_view() const { return host_.generation() != 0 && job_.view.epoch != 0; }
    // Why a push or a checkpoint of the worker ends as stale; null: it does not.
    const char* refusal(const Worker& worker) const;
    // How a pull of the worker ends at once; none: it does not. `ahead`: it is for a step that the
    // model has not seen.
    std::optional<Ending> pull_refusal(const Worker& worker, bool ahead) const;

    // The model is lost: all workers must broadcast it anew. All nodes must agree on that.
    bool is_lost() const { return lost_; }
    void set_lost(bool lost);
    // The worker has not asked for the model since it was restored from a checkpoint.
    bool is_rolled_back(control::Rank rank) const { return rolled_back_.contains(rank); }
    void roll_back(control::Rank rank) { rolled_back_.insert(rank); }
    void asked(control::Rank rank) { rolled_back_.erase(rank); }
    // The worker goes on from another job of this name, until it has a model of this job.
    void came_again(control::Rank rank) { unaware_.insert(rank); }
    void got_model(control::Rank rank) { unaware_.erase(rank); }
    // All workers have got the model by a round of pace_broadcast.
    void all_got_model();
    void forget(control::Rank rank);

    // There is no room for a shard that this node is to keep.
    const std::optional<base::Error>& no_room() const { return no_room_; }
    void set_no_room(const base::Error& error) { no_room_ = error; }
    void reset_no_room() { no_room_.reset(); }

  private:
    const JobState& job_;
    const ShardHost& host_;
    bool lost_ = false;
    std::set<control::Rank> unaware_;
    std::set<control::Rank> rolled_back_;
    std::optional<base::Error> no_room_;
};

}  // namespace pace::daemon
