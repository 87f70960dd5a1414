// Pulls: what this node's workers have asked for of a model. The controller gives each pull its
// position in the order. Each node sends its shards as they are at that position. When all parts
// have come, they are written to the worker's buffers, off the event loop if they are large.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/loop/scope.h"
#include "daemon/families/serving/pull.h"
#include "daemon/families/serving/shards/shard_host.h"
#include "daemon/kernels/aside.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class Pulls {
  public:
    // All that the worker has asked for is in its buffers: its first request can end.
    using Done = std::function<void(const WorkerPtr&, uint64_t position, uint64_t slowest)>;

    Pulls(JobState& job, ShardHost& host, Done done)
        : job_(job), host_(host), done_(std::move(done)), aside_(job.services.aside()) {}

    // The worker's first request wants the model for its step `clock`, including its own updates
    // before `own`. Asking again replaces what that request has asked for.
    void ask(const WorkerPtr& worker, uint64_t clock, uint64_t own);
    // Whether the worker's first request has asked, and has not got all parts yet.
    bool asks(control::Rank rank) const { return find(rank).pull != nullptr; }
    // Whether all parts have come and are being written: it is too late to withdraw the request, or
    // to ask again.
    bool is_writing(control::Rank rank) const;
    // The worker's first request goes on without the model. Its buffers are not written any more.
    void forget(control::Rank rank);
    // A part has come. It is dropped if nobody waits for it any more.
    void add(ShardHost::Part&& part);
    // A view has committed, and may have lost parts under way.
    void ask_again();

  private:
    // The request that has asked, which is the worker's first, keeps both alive.
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
