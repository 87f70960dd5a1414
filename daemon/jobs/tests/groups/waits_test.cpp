// For whom the members of groups wait, in words.
#include <string>

#include "daemon/jobs/tests/groups/groups_fixture.h"

namespace pace::daemon {
namespace {

using control::Policy;
using protocol::Verb;

constexpr const char* kAGroup =
    "a group, which the controller orders when its members have called (pacectl job show two nodes "
    "names who has not)";

class WaitsOfGroups : public GroupsFixture {
  protected:
    WaitsOfGroups() { begin(Policy::partial_reduce); }
};

TEST_F(WaitsOfGroups, NameTheControllerIfAllHereHaveCalled) {
    average(worker_, buffer_);
    average(second_, second_buffer_);
    EXPECT_EQ(wait_of(worker_), kAGroup);
}

TEST_F(WaitsOfGroups, NameTheWorkersHereThatHaveNotCalled) {
    average(worker_, buffer_);
    EXPECT_EQ(wait_of(worker_),
              std::string(kAGroup) + "; perhaps for worker 2 on this node, which has not called");
}

TEST_F(WaitsOfGroups, DoNotNameAWorkerHereThatIsInAnotherGroup) {
    average(worker_, buffer_);
    average(second_, second_buffer_);
    average(other_worker_, other_buffer_);
    give(order_of(5, {other_worker_, second_}));
    EXPECT_EQ(wait_of(worker_), kAGroup);
}

TEST_F(WaitsOfGroups, NameNoControllerThatDoesNotAnswer) {
    average(worker_, buffer_);
    ours.detach();
    EXPECT_EQ(wait_of(worker_), kNoController);
}

TEST_F(WaitsOfGroups, NameTheWorkerThatHasAnnouncedItsCall) {
    average(second_, second_buffer_);
    give(order_of(1, {second_}));
    job_->announce(second_, 2);
    average(worker_, buffer_);
    give(order_of(2, {worker_, second_}));
    EXPECT_EQ(wait_of(worker_), "worker 2, which has announced its call");
}

// Two groups are under way.
TEST_F(WaitsOfGroups, NameTheNodesThatTheirOwnGroupNeeds) {
    const auto third = network_.create();
    (void)peers_.know(3, "third", third->address());
    average(worker_, buffer_);
    average(second_, second_buffer_);
    average(other_worker_, other_buffer_);
    give(order_of(5, {other_worker_, worker_}));
    control::GroupOrder far = order_of(6, {second_});
    far.members.push_back({.rank = 3, .node = 3, .iteration = 1, .weight = 0.5});
    far.members[0].weight = 0.5;
    control::CommitView view = view_of_all(2);
    view.members.push_back({3, 3, 0, 0});
    job_->commit(view);
    give(far);
    EXPECT_EQ(wait_of(worker_), "worker 0 on node other, in group 5");
    EXPECT_EQ(wait_of(second_), "worker 3 on node third, in group 6");
}

TEST_F(WaitsOfGroups, NameAGroupOfThisNodeAlone) {
    Request unmade = average_of(buffer_, 1);
    unmade.order = protocol::Order::forward;
    unmade.ready = 0;
    submit(worker_, std::move(unmade));
    give(order_of(5, {worker_}));
    ASSERT_TRUE(job_->is_exchanging());
    EXPECT_EQ(wait_of(worker_), "group 5 to end");
}

}  // namespace
}  // namespace pace::daemon
