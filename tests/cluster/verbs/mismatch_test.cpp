// Mismatch tests: workers on different nodes make different calls in the same round. Each worker is
// told, and the job goes on.
#include <gtest/gtest.h>

#include <functional>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

using Call = std::function<pace_request(Worker&)>;

struct Pair {
    const char* name;
    Call first;
    Call second;
};

Call reduce(int32_t op) {
    return [op](Worker& worker) { return worker.reduce(op); };
}
Call broadcast(uint32_t root) {
    return [root](Worker& worker) { return worker.broadcast(root); };
}
Call barrier() {
    return [](Worker& worker) { return worker.barrier(); };
}

const std::vector<Pair>& pairs() {
    static const std::vector<Pair> pairs = {
        {"barrier and reduce", barrier(), reduce(PACE_OP_SUM)},
        {"broadcast and reduce", broadcast(0), reduce(PACE_OP_SUM)},
        {"broadcast and broadcast from another root", broadcast(0), broadcast(1)},
        {"broadcast and barrier", broadcast(0), barrier()},
        {"sum and mean", reduce(PACE_OP_SUM), reduce(PACE_OP_MEAN)},
    };
    return pairs;
}

TEST(Mismatch, BothSidesAreToldAndTheNextRoundIsRight) {
    const Cluster cluster({.nodes = 2});
    Worker a({.endpoint = cluster.endpoint(0), .rank = 0, .world = 2});
    Worker b({.endpoint = cluster.endpoint(1), .rank = 1, .world = 2});
    float* const of_a = a.add_floats(1000, 1);
    float* const of_b = b.add_floats(1000, 2);
    for (const Pair& pair : pairs()) {
        const pace_request from_a = pair.first(a);
        const pace_request from_b = pair.second(b);
        EXPECT_EQ(a.wait(from_a), PACE_E_MISMATCH) << pair.name << ": " << a.complaint();
        EXPECT_NE(a.complaint().find("worker 0 called"), std::string::npos) << a.complaint();
        EXPECT_NE(a.complaint().find("and worker 1 on node node1 something else"),
                  std::string::npos)
            << pair.name << ": " << a.complaint();
        EXPECT_EQ(b.wait(from_b), PACE_E_MISMATCH) << pair.name << ": " << b.complaint();
        EXPECT_NE(b.complaint().find("in the same order"), std::string::npos) << b.complaint();
        EXPECT_NE(b.complaint().find("and worker 0 on node node0 something else"),
                  std::string::npos)
            << pair.name << ": " << b.complaint();
        EXPECT_EQ(of_a[999], 1) << pair.name << ": inputs must stay intact";
        EXPECT_EQ(of_b[0], 2) << pair.name;
    }
    const pace_request from_a = a.reduce();
    const pace_request from_b = b.reduce();
    a.finish(from_a);
    b.finish(from_b);
    EXPECT_EQ(of_a[0], 3);
    EXPECT_EQ(of_b[999], 3);
}

// With a quorum the nodes compare their first calls before they sum.
TEST(Mismatch, OfAQuorumTheOtherNodeIsNamedToo) {
    const Cluster cluster({.nodes = 2});
    const auto open = [&](uint32_t rank, size_t node) {
        return Worker({.endpoint = cluster.endpoint(node),
                       .rank = rank,
                       .world = 3,
                       .tune = [](AskedSession& job) {
                           job.set(PACE_OPT_QUORUM, "count");
                           job.set(PACE_OPT_QUORUM_COUNT, 3);
                       }});
    };
    Worker a = open(0, 0);
    Worker b = open(1, 1);
    Worker c = open(2, 1);
    a.add_floats(1000, 1);
    b.add_floats(1000, 2);
    c.add_floats(1000, 3);
    const pace_request from_a = a.reduce(PACE_OP_SUM);
    const pace_request from_b = b.reduce(PACE_OP_MEAN);
    const pace_request from_c = c.reduce(PACE_OP_MEAN);
    EXPECT_EQ(a.wait(from_a), PACE_E_MISMATCH) << a.complaint();
    EXPECT_NE(a.complaint().find("and a worker on node node1 (1 or 2) something else"),
              std::string::npos)
        << a.complaint();
    EXPECT_EQ(b.wait(from_b), PACE_E_MISMATCH) << b.complaint();
    EXPECT_EQ(c.wait(from_c), PACE_E_MISMATCH) << c.complaint();
    EXPECT_NE(c.complaint().find("and worker 0 on node node0 something else"), std::string::npos)
        << c.complaint();
}

}  // namespace
}  // namespace pace::cluster
