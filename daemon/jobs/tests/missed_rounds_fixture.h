// A node that missed a round's result, and the node that is to give it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/collectives/messages/slots.h"
#include "daemon/jobs/tests/two_nodes_fixture.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

// Both nodes' workers have called a sum. The other node has the result. This node stood still, and
// has given its own part up for the next view.
class MissedRounds : public TwoNodes {
  protected:
    static constexpr uint64_t kMissed = 1000;  // elements
    static constexpr float kGiven = 3;
    static constexpr float kTheirGiven = 5;
    static constexpr uint64_t kNextEpoch = 2;

    void miss_a_round(control::JobOptions options = {}) {
        options.policy = control::Policy::all_reduce;
        open(options);
        commit(1);
        be_in_doubt();
        ours_ = sum(buffer_);
        theirs_ = sum_there(other_buffer_);
        listen();
        ASSERT_TRUE(until([this] { return other_port_.ended(theirs_); }));
        all_arrives();
        for (Job* job : {&*job_, &*other_job_})
            job->prepare({.job = 0, .epoch = kNextEpoch, .token = kToken});
        ASSERT_TRUE(until([this] { return !job_->rounds().is_exchanging(); }));
        ASSERT_FALSE(port_.ended(ours_));
        ASSERT_EQ(job_->rounds().completed(), 0U);
        be_sure();
        controller_.doubt().rest();
    }
    uint64_t sum(const BufferPtr& buffer) { return sum(*job_, worker_, buffer); }
    uint64_t sum_there(const BufferPtr& buffer) { return sum(*other_job_, other_worker_, buffer); }
    uint64_t sum(Job& job, const WorkerPtr& worker, const BufferPtr& buffer) {
        Request called = request(protocol::Verb::reduce, buffer, 1);
        called.op = protocol::ReduceOp::sum;
        called.digest = digest_of(called.buffers);
        const uint64_t id = called.id;
        job.submit(worker, std::move(called));
        return id;
    }
    // The donor is lost before it gives anything: another view names the next one.
    void expect_to_wait_without_the_donor() {
        commit_behind(kNextEpoch, false);
        lose_the_other_node();
        ASSERT_TRUE(until([this] { return !job_->is_exchanging(); }));
        EXPECT_TRUE(job_->state().wants_view);
        EXPECT_FALSE(port_.ended(ours_));
        expect_untouched();
    }
    // The view that names the other node as the donor. The donor itself hears of it only if
    // `gives`.
    void commit_behind(uint64_t epoch, bool gives) {
        control::CommitView view;
        view.epoch = epoch;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
        view.base_round = 1;
        view.donor = kOther;
        view.behind = {kSelf};
        job_->commit(view);
        if (gives) other_job_->commit(view);
    }
    void all_arrives() {
        for (int quiet = 0; quiet < 10; ++quiet)
            if (loop_->turn(false)) quiet = 0;
    }
    // As the watch does when nothing has moved for a while.
    void look_at_stalled() {
        const base::TimePoint later = base::now() + std::chrono::seconds(1);
        services_.active.each([later](const auto& active) { (void)active->stalled_for(later); });
        all_arrives();
    }
    static uint64_t number(ExchangeKind kind, uint64_t epoch = kNextEpoch) {
        return exchange_number(kToken, kind, epoch, kSelf);
    }
    // Sends as the donor would.
    void give_raw(uint64_t number, uint32_t check, std::span<const std::byte> bytes) {
        const uint32_t slot = collectives::slot(collectives::Phase::transfer, 0);
        const auto kept = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
        other_transport_->send(*other_peers_.peer(kSelf), {number, slot, check}, *kept,
                               [kept](const base::Result<>&) {});
        all_arrives();
    }
    // The nodes go on together: with the next sum, both get what both give.
    void go_on() {
        const BufferPtr ours = buffer_of(kMissed, 10);
        const BufferPtr theirs = buffer_of(kMissed, 20);
        const uint64_t id = sum(ours);
        const uint64_t other = sum_there(theirs);
        ASSERT_TRUE(until([&] { return port_.ended(id) && other_port_.ended(other); }));
        EXPECT_EQ(outcome_of(id), protocol::Outcome::done) << port_.endings.at(id).message;
        EXPECT_EQ(floats(*ours).back(), 30);
        EXPECT_EQ(floats(*theirs).front(), 30);
    }
    void expect_result() {
        ASSERT_TRUE(until([this] { return port_.ended(ours_); }));
        EXPECT_EQ(outcome_of(ours_), protocol::Outcome::done) << port_.endings.at(ours_).message;
        EXPECT_EQ(port_.endings.at(ours_).group, 0U);
        EXPECT_EQ(floats(*buffer_).front(), kGiven + kTheirGiven);
        EXPECT_EQ(floats(*buffer_).back(), kGiven + kTheirGiven);
    }
    void expect_untouched() {
        EXPECT_EQ(floats(*buffer_).front(), kGiven);
        EXPECT_EQ(floats(*buffer_).back(), kGiven);
    }
    uint64_t left_over() const {
        return transport_->counters().messages_unexpected +
               other_transport_->counters().messages_unexpected;
    }
    template <typename Act>
    static std::string log_of(Act act) {
        testing::internal::CaptureStderr();
        act();
        return testing::internal::GetCapturedStderr();
    }

    const BufferPtr buffer_ = buffer_of(kMissed, kGiven);
    const BufferPtr other_buffer_ = buffer_of(kMissed, kTheirGiven);
    uint64_t ours_ = 0;
    uint64_t theirs_ = 0;
};

}  // namespace pace::daemon
