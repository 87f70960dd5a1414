// Pulls: what this node's workers have asked for of a model. The controller gives each pull its place in the order; the nodes send the
// model as it is there, each its shards; when all of it has come, it goes into the worker's buffers, beside the event loop if it is much.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/scope.h"
#include "daemon/exchange/job_state.h"
#include "daemon/exchange/pull.h"
#include "daemon/exchange/shard_host.h"
#include "daemon/kernels/aside.h"

namespace pace::daemon {

class Pulls {
  public:
    // All that the worker has asked for is in its buffers: its first request can end.
    using Done = std::function<void(const WorkerPtr&, uint64_t position, uint64_t slowest)>;

    Pulls(JobState& job, ShardHost& host, Done done)
        : job_(job), host_(host), done_(std::move(done)), aside_(job.services.aside()) {}

    // The worker's first request wants the model for its step of `clock`, its own updates before `own` included. Asking again
    // replaces what that request has asked for.
    void ask(const WorkerPtr& worker, uint64_t clock, uint64_t own);
    // Whether the worker's first request has asked, and has not got all of it yet.
    bool asks(control::Rank rank) const { return find(rank).pull != nullptr; }
    // All of it has come, and is written: it is too late to withdraw the request, or to ask again.
    bool is_writing(control::Rank rank) const;
    // The worker's first request goes on, and does not wait for the model any more. Its buffers are written no more.
    void forget(control::Rank rank);
    // Some of it has come. What nobody waits for any more is dropped.
    void add(ShardHost::Part&& part);
    // A view has committed, and may have lost what was on its way.
    void ask_again();

  private:
    // Both live as long as the request that has asked, which is the worker's first: this only looks at them.
    struct Asked {
        std::weak_ptr<Worker> worker;
        std::weak_ptr<Pull> pull;
    };
    struct Found {
        WorkerPtr worker;
        std::shared_ptr<Pull> pull;  // null: there is none
    };
    Found find(control::Rank rank) const;
    void tell(control::Rank rank, const Pull& pull) const;
    void write(const Found& found, uint64_t position, uint64_t slowest);
    void written(control::Rank rank, uint64_t position, uint64_t slowest);

    JobState& job_;
    ShardHost& host_;
    Done done_;
    kernels::Aside aside_;
    std::map<control::Rank, Asked> asked_;
    base::Scope scope_;
};

}  // namespace pace::daemon
