// Groups whose order came over an earlier attachment. The controller died, or stood still: it may
// have told one node of a group and not the other.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/jobs/engine.h"
#include "daemon/jobs/tests/other_node_fixture.h"
#include "daemon/members/digest.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;
using std::chrono::milliseconds;

constexpr control::JobId kGroupsJob = 1;
// Longer than until() waits: what a test waits for does not come from this deadline.
constexpr base::Duration kProgressDeadline = std::chrono::minutes(1);

// Two nodes with a worker each; both workers have called.
class AttachedAnew : public WithOtherNode, public testing::WithParamInterface<uint64_t> {
  protected:
    AttachedAnew() {
        services_.options.progress_deadline = kProgressDeadline;
        other_services_.options.progress_deadline = kProgressDeadline;
        for (auto* node : {&ours_, &theirs_}) {
            node->seat = take_seat(*node);
            node->engine->on(view());
            call_again(*node);
        }
    }
    ~AttachedAnew() override {
        for (auto* node : {&ours_, &theirs_}) {
            node->seat.reset();
            node->engine->shut_down();
            node->engine.reset();
        }
        transport_->end();
        other_transport_->end();
    }

    struct Node {
        control::Rank rank;
        NodeId id;
        std::unique_ptr<Engine> engine;
        TestPort& port;
        BufferPtr buffer;
        Request call{};
        std::optional<Seat> seat{};

        Worker& worker() const { return *seat->worker; }
        bool is_ready() const { return worker().state == Worker::State::ready; }
        bool is_moving() const { return worker().state == Worker::State::moving; }
        bool has_ended() const { return port.ended(call.id); }
    };

    static control::JobOptions options() {
        control::JobOptions options;
        options.name = "in groups";
        options.world = 2;
        options.policy = control::Policy::partial_reduce;
        options.group_size = 2;
        return options;
    }
    static control::CommitView view() {
        control::CommitView view;
        view.job = kGroupsJob;
        view.epoch = 1;
        view.members = {{0, kOther, 0, 0}, {1, kSelf, 0, 0}};
        return view;
    }
    void call_again(Node& node) {
        node.call = request(Verb::average, node.buffer, kIteration);
        node.engine->submit(*node.seat, node.call);
    }
    Seat take_seat(Node& node) const {
        std::optional<Seat> got;
        JoinRequest asked;
        asked.rank = node.rank;
        asked.options = options();
        const uint64_t ticket = node.engine->join(
            asked, &node.port, [&got](base::Result<Seat> seat) { got = std::move(*seat); });
        node.engine->on(control::JoinAccepted{.request = ticket,
                                              .job = kGroupsJob,
                                              .rank = node.rank,
                                              .options = protocol::write_options(options()),
                                              .token = 5});
        return *got;
    }
    control::GroupOrder order(control::GroupId group) const {
        control::GroupOrder order;
        order.job = kGroupsJob;
        order.group = group;
        order.epoch = 1;
        order.members = {{0, kOther, kIteration, 0.5, 0, 0}, {1, kSelf, kIteration, 0.5, 0, 0}};
        order.iteration = kIteration;
        order.digest = digest_of(ours_.call.buffers);
        return order;
    }
    void order_both(control::GroupId group) {
        for (auto* node : {&ours_, &theirs_}) node->engine->on(order(group));
    }
    // To another process of the controller, or anew to the same one.
    static void attach_anew(const Node& node) {
        node.engine->on_detached(false, "it is silent");
        node.engine->on_attached(node.id);
        node.seat->job->resumed(node.seat->worker, false);
    }
    static bool holds(const Node& node, float value) {
        return std::ranges::all_of(floats(*node.buffer),
                                   [value](float element) { return element == value; });
    }

    static constexpr uint64_t kIteration = 7;
    Node ours_{1, kSelf, std::make_unique<Engine>(services_), port_, buffer_of(GetParam(), 3)};
    Node theirs_{0, kOther, std::make_unique<Engine>(other_services_), other_port_,
                 buffer_of(GetParam(), 5)};
};

TEST_P(AttachedAnew, TheMembersOfAGroupThatOneNodeAloneKnowsOfAreReadyAgainAtOnce) {
    listen();
    ours_.engine->on(order(1));
    ASSERT_EQ(ours_.worker().state, Worker::State::moving);
    attach_anew(ours_);
    attach_anew(theirs_);
    EXPECT_TRUE(until([this] { return ours_.is_ready(); }));
    EXPECT_TRUE(theirs_.is_ready());
    EXPECT_FALSE(ours_.has_ended());
    order_both(2);
    ASSERT_TRUE(until([this] { return ours_.has_ended() && theirs_.has_ended(); }));
    EXPECT_TRUE(holds(ours_, 4));
    EXPECT_TRUE(holds(theirs_, 4));
}

// Groups commit member by member: the node that was told late may have all that it needs.
TEST_P(AttachedAnew, AnOrderThatComesLateDoesNoHarm) {
    listen();
    ours_.engine->on(order(1));
    attach_anew(ours_);
    attach_anew(theirs_);
    ASSERT_TRUE(until([this] { return ours_.is_ready(); }));
    theirs_.engine->on(order(1));
    ASSERT_TRUE(until([this] { return !theirs_.is_moving(); }))
        << "it waits for a node that has given the group up";
    EXPECT_TRUE(ours_.is_ready());
    EXPECT_TRUE(holds(ours_, 3));
    const float theirs = theirs_.has_ended() ? 4 : 5;
    EXPECT_TRUE(holds(theirs_, theirs));
    if (theirs_.has_ended()) call_again(theirs_);
    order_both(2);
    ASSERT_TRUE(until([this] { return ours_.has_ended() && theirs_.has_ended(); }));
    EXPECT_TRUE(holds(ours_, (3 + theirs) / 2));
    EXPECT_TRUE(holds(theirs_, (3 + theirs) / 2));
    EXPECT_EQ(port_.endings.at(ours_.call.id).group, 2U);
}

// The other node has begun, and is slow.
TEST_P(AttachedAnew, AGroupOfWhichTheOthersKnowGoesOn) {
    order_both(1);
    attach_anew(ours_);
    EXPECT_FALSE(within(milliseconds(400), [this] { return ours_.is_ready(); }));
    listen();
    ASSERT_TRUE(until([this] { return ours_.has_ended() && theirs_.has_ended(); }));
    EXPECT_TRUE(holds(ours_, 4));
    EXPECT_TRUE(holds(theirs_, 4));
    EXPECT_EQ(port_.endings.at(ours_.call.id).group, 1U);
}

TEST_P(AttachedAnew, AGroupThatThisControllerHasOrderedIsWaitedFor) {
    listen();
    attach_anew(ours_);
    attach_anew(theirs_);
    ours_.engine->on(order(1));
    EXPECT_FALSE(within(milliseconds(400), [this] { return ours_.is_ready(); }));
}

// Few elements are sent at once; many wait at their sender until they are asked for.
INSTANTIATE_TEST_SUITE_P(Elements, AttachedAnew, testing::Values(1000, 1'000'000));

}  // namespace
}  // namespace pace::daemon
