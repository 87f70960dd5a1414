// Groups of one job on two nodes, in simulated time. The test says what the controller would say,
// and reads what the nodes say to it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/simulation/simulated_time.h"
#include "daemon/control/heard_controller.h"
#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {

// What outlives the nodes.
struct AroundNodes {
    base::SimulatedTime simulated{1};
    HeardController ours;
    HeardController theirs;
};

// Workers 1 and 2 are on this node, worker 0 is on the other one.
class GroupsFixture : protected AroundNodes, public TwoNodes {
  protected:
    static constexpr control::JobId kJob = 7;
    static constexpr control::Rank kSecond = 2;
    static constexpr uint64_t kElements = 100;

    GroupsFixture() : TwoNodes(&ours, &theirs) {}

    void begin(const control::JobOptions& options) {
        open(options);
        for (Job* job : {&*job_, &*other_job_}) job->state().id = kJob;
        job_->add(second_);
        commit_all(1);
    }
    void begin(control::Policy policy) { begin(in_pairs(policy)); }
    static control::CommitView view_of_all(uint64_t epoch) {
        control::CommitView view;
        view.job = kJob;
        view.epoch = epoch;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}, {kSecond, kSelf, 0, 0}};
        return view;
    }
    void commit_all(uint64_t epoch) {
        for (Job* job : {&*job_, &*other_job_}) job->commit(view_of_all(epoch));
    }

    // Runs everything that can happen now.
    void settle() {
        for (int turns = 0; loop_->turn(false); ++turns) ASSERT_LT(turns, 100'000);
    }
    // Lets this much time pass. Timers that are due meanwhile run at their times.
    void pass(base::Duration time) {
        const base::TimePoint end = base::now() + time;
        settle();
        while (const auto next = loop_->next_timer()) {
            if (*next > end) break;
            base::SimulatedTime::set(std::max(base::now(), *next));
            settle();
        }
        base::SimulatedTime::set(end);
        settle();
    }
    // As the daemons do at every heartbeat.
    void look_at_stalls() {
        for (Services* services : {&services_, &other_services_})
            services->active.each(
                [](const auto& active) { (void)active->stalled_for(base::now()); });
        settle();
    }

    bool is_theirs(const WorkerPtr& worker) const { return worker->rank == kTheirs; }
    Request average_of(const BufferPtr& buffer, uint64_t iteration) {
        Request average = request(protocol::Verb::average, buffer, iteration);
        average.digest = digest_of(average.buffers);
        average.submitted_ns = base::now_ns();
        return average;
    }
    uint64_t submit(const WorkerPtr& worker, Request called) {
        const uint64_t id = called.id;
        (is_theirs(worker) ? other_job_ : job_)->submit(worker, std::move(called));
        settle();
        return id;
    }
    uint64_t average(const WorkerPtr& worker, const BufferPtr& buffer, uint64_t iteration = 1) {
        return submit(worker, average_of(buffer, iteration));
    }
    bool has_ended(uint64_t id) const { return port_.ended(id) || other_port_.ended(id); }
    const Ending& ending(uint64_t id) const {
        return port_.ended(id) ? port_.endings.at(id) : other_port_.endings.at(id);
    }
    bool is_done(uint64_t id) const {
        return has_ended(id) && ending(id).outcome == protocol::Outcome::done;
    }

    // A group of these workers, as they have called, with equal weights.
    control::GroupOrder order_of(control::GroupId group,
                                 const std::vector<WorkerPtr>& members) const {
        control::GroupOrder order;
        order.job = kJob;
        order.group = group;
        order.epoch = 1;
        for (const WorkerPtr& member : members) {
            const NodeId node = is_theirs(member) ? kOther : kSelf;
            const uint64_t iteration =
                member->announced ? member->announced->iteration : member->head().iteration;
            order.digest = member->announced ? member->announced->digest : member->head().digest;
            order.iteration = std::max(order.iteration, iteration);
            order.members.push_back({.rank = member->rank,
                                     .node = node,
                                     .iteration = iteration,
                                     .weight = 1.0 / static_cast<double>(members.size())});
        }
        return order;
    }
    void give(const control::GroupOrder& order) {
        job_->order(order);
        settle();
    }
    void give_there(const control::GroupOrder& order) {
        other_job_->order(order);
        settle();
    }
    void give_both(const control::GroupOrder& order) {
        job_->order(order);
        give_there(order);
    }

    control::Ready ready_signal(const WorkerPtr& worker, uint64_t iteration,
                                control::ReadyStage stage = control::ReadyStage::called) const {
        return {kJob, worker->rank, iteration, digest_of({buffer_}), stage};
    }
    // What this node waits for in the worker's first request, in words.
    std::string wait_of(const WorkerPtr& worker) const {
        for (const Wait& wait : job_->waits(base::now_ns(), base::Duration::zero()))
            if (wait.rank == worker->rank) return wait.what;
        return "nothing";
    }
    static bool holds(const BufferPtr& buffer, float value) {
        return std::ranges::all_of(floats(*buffer), [value](float own) { return own == value; });
    }
    // Messages for exchanges that this node has not begun.
    uint64_t unexpected() const { return transport_->counters().messages_unexpected; }

    const WorkerPtr second_ = new_worker(kSecond);
    const BufferPtr buffer_ = buffer_of(kElements, 3);
    const BufferPtr second_buffer_ = buffer_of(kElements, 5);
    const BufferPtr other_buffer_ = buffer_of(kElements, 10);
};

}  // namespace pace::daemon
