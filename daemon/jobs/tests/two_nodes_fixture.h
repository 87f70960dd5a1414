// Two nodes' parts of one job, without a controller: the test says what the controller would say.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/jobs/tests/other_node_fixture.h"
#include "daemon/members/digest.h"

namespace pace::daemon {

// A job with one worker on this node and one on the other.
class TwoNodes : public WithOtherNode {
  protected:
    static constexpr control::Rank kTheirs = 0;
    static constexpr control::Rank kOurs = 1;

    using WithOtherNode::WithOtherNode;
    ~TwoNodes() override {
        job_.reset();
        other_job_.reset();
        transport_->end();
        other_transport_->end();
    }

    static control::JobOptions in_pairs(control::Policy policy) {
        control::JobOptions options;
        options.policy = policy;
        options.group_size = 2;
        return options;
    }
    void open(control::JobOptions options) {
        options.name = "two nodes";
        options.world = 2;
        job_.emplace(services_, options, 0);
        other_job_.emplace(other_services_, options, 0);
        for (Job* job : {&*job_, &*other_job_}) job->state().token = kToken;
        other_worker_->port = &other_port_;
        job_->add(worker_);
        other_job_->add(other_worker_);
    }
    void commit(uint64_t epoch, const std::vector<NodeId>& behind = {}) {
        control::CommitView view;
        view.epoch = epoch;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
        view.base_round = std::max(job_->rounds().completed(), other_job_->rounds().completed());
        view.donor = kOther;
        view.behind = behind;
        job_->commit(view);
        other_job_->commit(view);
    }
    void prepare(uint64_t epoch) { job_->prepare({.job = 0, .epoch = epoch, .token = kToken}); }
    uint64_t call(protocol::Verb verb, const BufferPtr& buffer) {
        return call(*job_, worker_, verb, buffer);
    }
    uint64_t call_there(protocol::Verb verb, const BufferPtr& buffer) {
        return call(*other_job_, other_worker_, verb, buffer);
    }
    uint64_t call(Job& job, const WorkerPtr& worker, protocol::Verb verb, const BufferPtr& buffer) {
        Request called = request(verb, buffer, 1);
        called.digest = digest_of(called.buffers);
        const uint64_t id = called.id;
        job.submit(worker, std::move(called));
        return id;
    }
    void lose_the_other_node() { peers_.forget(kOther); }
    protocol::Outcome outcome_of(uint64_t id) { return port_.endings.at(id).outcome; }

    static constexpr uint64_t kToken = 99;
    std::optional<Job> job_;
    std::optional<Job> other_job_;
    WorkerPtr worker_ = new_worker(kOurs);
    WorkerPtr other_worker_ = new_worker(kTheirs);
};

}  // namespace pace::daemon
