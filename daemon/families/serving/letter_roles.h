// LetterRoles: who may send which letter about a model, and what a letter may say, in the present
// view. The connection says which node a letter comes from. Everything in a letter may be a lie,
// and is checked before it sizes or names anything.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "daemon/families/serving/shards/shard_host.h"
#include "daemon/members/job_state.h"
#include "daemon/server/letter.h"

namespace pace::daemon {

class LetterRoles {
  public:
    // How far the clock of a worker's update may be ahead of the greatest clock of which this node
    // has heard. The sender may have heard more of the order: at most as much as the controller
    // keeps for nodes that have missed it.
    static constexpr uint64_t kClocksAhead = 1024;

    LetterRoles(const JobState& job, const ShardHost& host) : job_(job), host_(host) {}

    // Whether `from` may send the letter, which is of this model. Error: corrupt, which says why
    // not.
    base::Result<> check(NodeId from, const server::Letter& letter) const;

  private:
    base::Result<> check_answer(const server::Letter& letter) const;
    base::Result<> check_worker(NodeId node, const server::Letter& letter) const;
    base::Result<> check_place(NodeId from, const server::Letter& letter) const;
    base::Result<> check_update(NodeId from, const server::Letter& letter) const;
    base::Result<> check_part(NodeId from, const server::Letter& letter) const;
    base::Result<> check_model(NodeId from, const server::Letter& letter) const;
    base::Result<> check_kept(const server::Letter& letter) const;

    const JobState& job_;
    const ShardHost& host_;
};

}  // namespace pace::daemon
