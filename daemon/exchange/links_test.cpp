// Nodes on an in-memory network that measure their links, each with its own transport, on one loop.
#include "daemon/exchange/links.h"
#include "daemon/control/absent_controller.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "daemon/gpu/gpu_groups.h"
#include "daemon/runtime/active.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kJob = 3;

// An exchange that lasts and does nothing else.
class Lasting final : public Active {
  public:
    void abort(const base::Error& /*error*/) override {}
    void peer_lost(transports::PeerId /*peer*/, const base::Error& /*error*/) override {}
    base::Duration stalled_for(base::TimePoint /*now*/) override { return {}; }
    std::vector<NodeId> waiting_for() const override { return {}; }
    uint32_t job() const override { return kJob; }
    bool patient() const override { return true; }
    std::string what() const override { return "nothing"; }
};

struct LinkNode {
    LinkNode(base::EventLoop& loop, transports::MemoryNetwork& network, NodeId self,
             LinksOptions options)
        : transport(network.create()),
          peers(*transport),
          gpu_groups(loop, 0),
          services(std::make_unique<Services>(loop, *transport, peers, pool, counters,
                                              ExchangeOptions{}, disk, controller, gpu_groups)),
          links(*services, options) {
        services->self = self;
    }

    std::unique_ptr<transports::MemoryTransport> transport;
    Peers peers;
    kernels::WorkerPool pool{0};
    Counters counters;
    base::BackgroundThread disk;
    AbsentController controller;
    GpuGroups gpu_groups;
    std::unique_ptr<Services> services;
    Links links;
};

class LinksTest : public ::testing::Test {
  protected:
    ~LinksTest() override {
        for (const auto& [id, node] : nodes_) loop_->remove_poller(node->transport.get());
    }
    void start(const std::vector<NodeId>& ids) {
        for (const NodeId id : ids) {
            nodes_[id] = std::make_unique<LinkNode>(*loop_, network_, id, options_);
            loop_->add_poller(nodes_[id]->transport.get());
        }
        for (const auto& [id, node] : nodes_)
            for (const auto& [other, peer] : nodes_)
                if (other != id)
                    (void)node->peers.know(other, std::to_string(other),
                                           peer->transport->address());
    }
    Links& links(NodeId id) { return nodes_.at(id)->links; }
    void commit(NodeId at, uint64_t epoch, const std::vector<NodeId>& ids, uint32_t job = kJob) {
        links(at).commit({.job = job, .token = 77 + job, .epoch = epoch, .nodes = ids});
    }
    void commit_at_all(uint64_t epoch, const std::vector<NodeId>& ids) {
        for (const auto& [id, node] : nodes_) commit(id, epoch, ids);
    }
    // Takes reports meanwhile.
    template <typename Condition>
    bool until(Condition condition) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (base::now() < deadline) {
            loop_->turn(false);
            take_reports();
            if (condition()) return true;
        }
        return false;
    }
    void run_for(base::Duration time) {
        bool over = false;
        const base::Timer timer = loop_->run_after(time, [&over] { over = true; });
        EXPECT_TRUE(until([&over] { return over; }));
    }
    void take_reports() {
        for (const auto& [id, node] : nodes_) {
            std::vector<control::LinkReport> reports;
            node->links.report(reports);
            for (const control::LinkReport& report : reports) {
                ++reports_[{id, report.node}];
                EXPECT_GT(report.latency_ns, 0U);
                EXPECT_GE(report.ns_per_byte, 0);
            }
        }
    }
    size_t reports(NodeId from, NodeId to) const {
        const auto found = reports_.find({from, to});
        return found == reports_.end() ? 0 : found->second;
    }
    static LinksOptions quick() {
        LinksOptions options;
        options.look_every = milliseconds(1);
        options.series = 1;
        options.series_apart = milliseconds(5);
        return options;
    }

    LinksOptions options_ = quick();
    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    transports::MemoryNetwork network_;
    std::map<NodeId, std::unique_ptr<LinkNode>> nodes_;
    std::map<std::pair<NodeId, NodeId>, size_t> reports_;
};

TEST_F(LinksTest, TheLowerNodeOfAPairMeasuresItOnceAndTellsOnce) {
    start({4, 7});
    commit_at_all(1, {7, 4});
    ASSERT_TRUE(until([&] { return reports(4, 7) == 1; }));
    commit_at_all(2, {7, 4});
    run_for(milliseconds(20));
    EXPECT_EQ(reports_.size(), 1U);
    EXPECT_EQ(reports(4, 7), 1U);
    links(4).attached();
    take_reports();
    EXPECT_EQ(reports(4, 7), 2U) << "the controller may have forgotten";
}

TEST_F(LinksTest, APairIsPingedInSeveralSeriesAndWhatIsFasterIsToldAnew) {
    options_.series = 3;
    start({1, 2});
    commit_at_all(1, {1, 2});
    const auto sent = [&] { return nodes_[1]->transport->counters().messages_sent; };
    ASSERT_TRUE(until([&] { return sent() >= 3 * 11U; }));
    run_for(milliseconds(50));
    EXPECT_EQ(sent(), 3 * 11U);
    EXPECT_GE(reports(1, 2), 1U);
    EXPECT_LE(reports(1, 2), 3U);
    commit_at_all(2, {1, 2});
    run_for(milliseconds(50));
    EXPECT_EQ(sent(), 3 * 11U) << "the pair is measured";
}

// The second node answers one series, as a node of the previous release does.
TEST_F(LinksTest, ANodeThatAnswersOneSeriesIsMeasuredByThat) {
    options_.ping_max = milliseconds(100);
    start({2});
    options_.series = 3;
    start({1});
    commit_at_all(1, {1, 2});
    ASSERT_TRUE(until([&] { return reports(1, 2) == 1; }));
    run_for(milliseconds(300));
    EXPECT_EQ(reports(1, 2), 1U);
}

TEST_F(LinksTest, NothingIsMeasuredWhileAnExchangeIsUnderWay) {
    start({1, 2});
    const auto exchange = std::make_shared<Lasting>();
    nodes_[1]->services->active.add(exchange);
    commit_at_all(1, {1, 2});
    run_for(milliseconds(20));
    EXPECT_TRUE(reports_.empty());
    EXPECT_EQ(nodes_[1]->transport->counters().messages_sent, 0U);
    nodes_[1]->services->active.remove(exchange.get());
    EXPECT_TRUE(until([&] { return reports(1, 2) == 1; }));
}

TEST_F(LinksTest, ANodeThatDoesNotComeIsPassedByAndTriedInTheNextView) {
    options_.ping_max = milliseconds(200);
    start({1, 2, 3});
    commit(1, 1, {1, 2, 3});
    commit(3, 1, {1, 2, 3});
    ASSERT_TRUE(until([&] { return reports(1, 3) == 1; }));
    run_for(milliseconds(20));
    EXPECT_EQ(reports_.size(), 1U);
    commit_at_all(2, {1, 2, 3});
    EXPECT_TRUE(until([&] { return reports(1, 2) == 1 && reports(2, 3) == 1; }));
    EXPECT_EQ(reports(1, 3), 1U);
}

TEST_F(LinksTest, AFrozenNodeHoldsUpNobody) {
    options_.ping_max = milliseconds(200);
    start({1, 2, 3});
    commit_at_all(1, {1, 2, 3});
    network_.freeze(*nodes_[2]->transport);
    ASSERT_TRUE(until([&] { return reports(1, 3) == 1; }));
    run_for(milliseconds(20));
    network_.thaw(*nodes_[2]->transport);
    commit_at_all(2, {1, 2, 3});
    EXPECT_TRUE(until([&] { return reports(1, 2) == 1 && reports(2, 3) == 1; }));
}

TEST_F(LinksTest, ANodeThatWasGoneIsMeasuredAgain) {
    start({1, 2});
    commit_at_all(1, {1, 2});
    ASSERT_TRUE(until([&] { return reports(1, 2) == 1; }));
    links(1).forget(2);
    commit_at_all(2, {1, 2});
    EXPECT_TRUE(until([&] { return reports(1, 2) == 2; }));
    links(1).forget_all();
    links(2).forget_all();
    commit_at_all(3, {1, 2});
    EXPECT_TRUE(until([&] { return reports(1, 2) == 3; }));
}

TEST_F(LinksTest, APairOfTwoJobsIsMeasuredOnce) {
    start({1, 2});
    commit(1, 1, {1, 2});
    commit(2, 1, {1, 2});
    commit(2, 1, {1, 2}, kJob + 1);
    commit(1, 1, {1, 2}, kJob + 1);
    ASSERT_TRUE(until([&] { return reports(1, 2) == 1; }));
    run_for(milliseconds(20));
    EXPECT_EQ(reports(1, 2), 1U);
}

// Views that commit while the links of the previous one are measured.
TEST_F(LinksTest, ANewViewBeginsAnew) {
    start({1, 2, 3, 4});
    for (uint64_t epoch = 1; epoch <= 30; ++epoch) {
        commit_at_all(epoch, {1, 2, 3, 4});
        for (int turn = 0; turn < 7; ++turn) loop_->turn(false);
    }
    commit_at_all(31, {1, 2, 3, 4});
    EXPECT_TRUE(until([&] { return reports_.size() == 6; }));
    for (const auto& [pair, count] : reports_) {
        EXPECT_LT(pair.first, pair.second);
        EXPECT_EQ(count, 1U);
    }
}

// On a busy machine a series of one of so many pairs may make no sense, and tells nothing.
TEST_F(LinksTest, InALargeViewNeighboursAloneAreMeasured) {
    options_.series = 8;
    std::vector<NodeId> ids;
    for (NodeId i = 0; i < 24; ++i) ids.push_back(1 + (i * 7) % 24);
    start(ids);
    commit_at_all(1, ids);
    std::set<std::pair<NodeId, NodeId>> pairs;
    for (size_t i = 0; i < ids.size(); ++i)
        for (size_t step = 1; step <= Links::kNeighboursEachWay; ++step) {
            const NodeId other = ids[(i + step) % ids.size()];
            pairs.insert({std::min(ids[i], other), std::max(ids[i], other)});
        }
    EXPECT_EQ(pairs.size(), 24 * Links::kNeighboursEachWay);
    ASSERT_TRUE(until([&] { return reports_.size() >= pairs.size(); }));
    for (const auto& [pair, count] : reports_) EXPECT_TRUE(pairs.contains(pair));
}

}  // namespace
}  // namespace pace::daemon
