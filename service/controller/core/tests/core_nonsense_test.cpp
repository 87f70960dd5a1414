// Core under nonsense: events that no correct daemon sends, in any order. The core must survive,
// and its orders must still make sense.
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::microseconds;

constexpr uint32_t kWorld = 6;
constexpr uint32_t kNodes = 3;
constexpr uint32_t kPerNode = kWorld / kNodes;

// Random fields: small numbers that mostly exist, and sometimes any number.
class Nonsense {
  public:
    explicit Nonsense(uint64_t seed) : random_(seed) {}

    uint64_t below(uint64_t bound) { return random_.below(bound); }
    uint32_t number(uint32_t bound) {
        if (random_.below(20) == 0) return static_cast<uint32_t>(random_.next());
        return static_cast<uint32_t>(random_.below(bound));
    }
    NodeId node() { return number(kNodes + 2); }
    JobId job() { return random_.below(10) == 0 ? number(3) : 1; }
    Rank rank() { return number(kWorld); }
    uint64_t big() { return random_.below(3) == 0 ? random_.next() : random_.below(8); }

    Event event(const std::vector<GroupId>& groups) {
        const GroupId group = groups.empty() ? big() : groups[random_.below(groups.size())];
        switch (random_.below(60)) {
            case 0:
                return Hello{0, "node" + std::to_string(random_.below(kNodes)), big(), {}, "", 1};
            case 1:
                return NodeLost{node(), "nonsense"};
            case 2:
                return from(node(), PeerLost{node(), "nonsense"});
            case 3:
                return random_.below(3) == 0
                           ? Event(
                                 from(node(), JobKept{job(), big(), below(2) == 0, below(2) == 0}))
                           : Event(from(node(), WorkerLeave{job(), rank(), random_.below(2) == 0}));
            case 4:
                return from(node(), WorkerAdmit{job(), rank(), random_.below(2) == 0});
            case 5:
                return from(node(), Withdraw{job(), rank()});
            case 6:
                return from(node(), ViewPrepared{job(), big(), big()});
            case 7:
                return random_.below(2) == 0
                           ? Event(from(node(), Stalled{job(), {node(), node()}}))
                           : Event(from(node(), LinkCut{node(), random_.below(2) == 0, big()}));
            case 8:
                return from(node(),
                            Heartbeat{{{job(), rank(), big(), big(), big(), below(2) == 0}}});
            case 9:
                return from(node(), GroupDone{job(), group, random_.below(4) == 0, big(), big()});
            case 10:
            case 11:
            case 12:
            case 13:
                return join();
            default:
                return ready();
        }
    }
    // Mostly from the node where the worker is.
    From<Ready> ready() {
        const Rank who = rank();
        const NodeId home = who / kPerNode + 1;
        return from(random_.below(10) == 0 ? node() : home, Ready{job(), who, big(), number(3)});
    }
    From<WorkerJoin> join() {
        JobOptions options = averaging(kWorld, 2);
        if (random_.below(10) == 0) options.world = number(4);
        options.group_wait_ms = 5;
        const bool resume = random_.below(3) == 0;
        const Rank who = rank();
        const NodeId home = random_.below(4) == 0 ? node() : who / kPerNode + 1;
        return from(home, WorkerJoin{big(), who, options, 1000, resume, big(), big(), big()});
    }

  private:
    base::Random random_;
};

// Members of a group have signalled since their last group, once each.
void check_orders(const std::vector<To<GroupOrder>>& orders, std::set<Rank>& signalled,
                  std::vector<GroupId>& groups) {
    for (const GroupOrder& order : orders) {
        groups.push_back(order.group);
        ASSERT_FALSE(order.members.empty());
        for (const Part& part : order.members) {
            ASSERT_LT(part.rank, kWorld);
            ASSERT_EQ(signalled.erase(part.rank), 1U) << "rank " << part.rank;
        }
    }
}

// Returns the number of groups.
size_t run(uint64_t seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    CoreFixture f;
    Nonsense nonsense(seed);
    const JobOptions options = [] {
        JobOptions o = averaging(kWorld, 2);
        o.group_wait_ms = 5;
        return o;
    }();
    const auto nodes = f.start(options, kPerNode);
    std::vector<GroupId> groups;
    std::set<Rank> signalled;
    size_t formed = 0;
    for (int step = 0; step < 3000; ++step) {
        const Event event = nonsense.event(groups);
        if (const auto* ready = std::get_if<From<Ready>>(&event)) signalled.insert(ready->rank);
        f.send(event);
        f.hear(nodes);
        f.pass(microseconds(nonsense.below(3000)));
        const auto orders = f.take<GroupOrder>();
        formed += orders.size();
        check_orders(orders, signalled, groups);
        if (::testing::Test::HasFatalFailure()) break;
        if (groups.size() > 20) groups.erase(groups.begin(), groups.begin() + 10);
        if (step % 100 == 0) static_cast<void>(f.job());
    }
    return formed;
}

TEST(CoreNonsense, NeverBringsTheCoreDownNorASenselessGroupOut) {
    size_t formed = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) formed += run(seed);
    EXPECT_GT(formed, 500U);  // otherwise everything was refused and nothing tested
}

// Every worker signals again and again, whatever became of its last signal.
TEST(CoreNonsense, OfWorkersThatSignalAtRandomIsMadeGroupsOfThoseThatWait) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        CoreFixture f;
        base::Random random(seed);
        const auto nodes = f.start(averaging(kWorld, 3));
        std::set<Rank> signalled;
        std::vector<GroupId> groups;
        for (int step = 0; step < 2000; ++step) {
            const auto rank = static_cast<Rank>(random.below(kWorld));
            signalled.insert(rank);
            f.send(from(nodes[rank], Ready{1, rank, random.below(5), 7}));
            f.pass(microseconds(random.below(500)));
            f.hear(nodes);
            check_orders(f.take<GroupOrder>(), signalled, groups);
            if (::testing::Test::HasFatalFailure()) return;
        }
        EXPECT_GT(groups.size(), 100U);
    }
}

}  // namespace
}  // namespace pace::controller
