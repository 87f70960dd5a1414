// What a call that lasts waits for: named by worker and node, to its trainer and in the log.
#include <algorithm>
#include <string>

#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Verb;

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr control::Rank kSecond = 2;  // another worker of this node

class WaitTexts : public TwoNodes {
  protected:
    // All three workers are in the view.
    void commit_three(uint64_t epoch, const std::vector<control::Adoption>& adoptions = {}) {
        job_->add(second_);
        control::CommitView view;
        view.epoch = epoch;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}, {kSecond, kSelf, 0, 0}};
        view.adoptions = adoptions;
        job_->commit(view);
        turn();
    }
    // What the request waits for.
    std::string text(uint64_t id) {
        for (const Wait& wait : job_->waits(base::now_ns(), base::Duration::zero()))
            if (wait.request == id) return wait.what;
        return "nothing";
    }

    const WorkerPtr second_ = new_worker(kSecond);
    const BufferPtr buffer_ = buffer_of(100, 3);
};

class OfARound : public WaitTexts, public testing::WithParamInterface<Verb> {};

TEST_P(OfARound, NameTheWorkerOfThisNodeThatHasNotCalled) {
    open(in_pairs(GetParam() == Verb::sync ? control::Policy::partial_reduce
                                           : control::Policy::all_reduce));
    commit_three(1);
    const uint64_t id = call(GetParam(), buffer_);
    EXPECT_EQ(text(id), "worker 2 on this node, which has not called");
}

TEST_P(OfARound, NameTheWorkerOfAnotherNode) {
    open(in_pairs(GetParam() == Verb::sync ? control::Policy::partial_reduce
                                           : control::Policy::all_reduce));
    commit(1);
    const uint64_t id = call(GetParam(), buffer_);
    turn();
    EXPECT_NE(text(id).find("worker 0 on node other"), std::string::npos) << text(id);
    EXPECT_NE(text(id).find("round 0"), std::string::npos) << text(id);
}

INSTANTIATE_TEST_SUITE_P(All, OfARound,
                         testing::Values(Verb::reduce, Verb::broadcast, Verb::barrier, Verb::sync),
                         [](const auto& verb) {
                             return std::string(protocol::name_of(verb.param));
                         });

TEST_F(WaitTexts, OfAQuorumNameThoseElsewhere) {
    control::JobOptions options = in_pairs(control::Policy::all_reduce);
    options.quorum = control::Quorum::count;
    options.quorum_count = 2;
    open(options);
    commit(1);
    const uint64_t id = call(Verb::reduce, buffer_);
    turn();
    EXPECT_NE(text(id).find("worker 0 on node other"), std::string::npos) << text(id);
}

TEST_F(WaitTexts, OfAStaticGroupNameTheMemberThatHasNotCalled) {
    open(in_pairs(control::Policy::prague_static));
    commit_three(1);
    worker_->turn = 1;  // at this turn a node's workers meet
    const uint64_t id = call(Verb::average, buffer_);
    EXPECT_EQ(text(id), "worker 2 on this node, which has not called");
}

TEST_F(WaitTexts, OfAStaticGroupNameTheWorkerOfAnotherNode) {
    open(in_pairs(control::Policy::prague_static));
    commit(1);
    const uint64_t id = call(Verb::average, buffer_);
    EXPECT_NE(text(id).find("worker 0 on node other, in group"), std::string::npos) << text(id);
}

TEST_F(WaitTexts, OfANewcomerNameItsDonor) {
    open(in_pairs(control::Policy::all_reduce));
    worker_->newcomer = true;
    const uint64_t id = call(Verb::broadcast, buffer_);
    EXPECT_EQ(text(id), "the controller, which does not answer");
    commit_three(1, {{.newcomer = kOurs, .donor = kSecond}});
    EXPECT_EQ(text(id), "the model of worker 2 on this node, which gives it with its next call");
}

TEST_F(WaitTexts, OfACallBehindAnotherNameThatOne) {
    open(in_pairs(control::Policy::all_reduce));
    commit(1);
    call(Verb::reduce, buffer_);
    EXPECT_EQ(text(call(Verb::barrier, buffer_)), "the reduce that this worker called before");
}

TEST_F(WaitTexts, AreToldToTheTrainerAndInTheLogAtGrowingIntervals) {
    open(in_pairs(control::Policy::all_reduce));
    commit(1);
    const uint64_t id = call(Verb::reduce, buffer_);  // submitted at 0
    testing::internal::CaptureStderr();
    job_->tell_waits(9 * kSecondNs);
    EXPECT_TRUE(port_.waits.empty());
    for (uint64_t second = 10; second <= 50; second += 5) job_->tell_waits(second * kSecondNs);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(port_.waits[id], text(id));
    const auto lines = [&log](const std::string& words) {
        size_t count = 0;
        for (size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1))
            ++count;
        return count;
    };
    EXPECT_EQ(lines("a call waits"), 3U) << log;
    for (const char* seconds : {"for_s=10 ", "for_s=20 ", "for_s=40 "})
        EXPECT_EQ(lines(seconds), 1U) << log;
    EXPECT_EQ(lines("worker 0 on node other"), 3U) << log;
}

}  // namespace
}  // namespace pace::daemon
