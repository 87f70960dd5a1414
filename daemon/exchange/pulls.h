// Pulls: what this node's workers have asked for of a model. The controller gives each pull its place in the order; the nodes send the
// model as it is there, each its shards; when all of it has come, it goes into the worker's buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "daemon/exchange/job_state.h"
#include "daemon/exchange/shard_host.h"

namespace pace::daemon {

class Pulls {
  public:
    // All that the worker has asked for is in its buffers: its first request can end.
    using Done = std::function<void(const WorkerPtr&, uint64_t position, uint64_t slowest)>;

    Pulls(JobState& job, ShardHost& host, Done done)
        : job_(job), host_(host), done_(std::move(done)) {}

    // The worker's first request wants the model for its step of `clock`, its own updates before `own` included.
    void ask(const WorkerPtr& worker, uint64_t clock, uint64_t own);
    bool asks(control::Rank rank) const { return asked_.contains(rank); }
    void forget(control::Rank rank) { asked_.erase(rank); }
    // Some of it has come.
    void add(ShardHost::Part&& part);
    // A view has committed, and may have lost what was on its way.
    void ask_again();

  private:
    struct Came {
        std::map<uint32_t, std::vector<float>> parts;  // by shard
        uint64_t elements = 0;
    };
    struct Asked {
        WorkerPtr worker;
        uint64_t clock = 0;
        uint64_t own = 0;
        uint64_t first = 0;
        uint64_t count = 0;
        std::map<uint64_t, Came> came;  // by position
    };
    void tell(control::Rank rank, const Asked& asked) const;

    JobState& job_;
    ShardHost& host_;
    Done done_;
    std::map<control::Rank, Asked> asked_;
};

}  // namespace pace::daemon
