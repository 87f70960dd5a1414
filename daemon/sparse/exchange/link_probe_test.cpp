#include "daemon/sparse/exchange/link_probe.h"

#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "daemon/sparse/algorithms/cost_model.h"
#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;

base::Task<base::Result<>> keeping(base::Task<base::Result<Link>> task, Link& ret_link) {
    base::Result<Link> link = co_await std::move(task);
    if (!link) co_return std::move(link).error();
    ret_link = *link;
    co_return base::Result<>();
}

// A separate clock for each node. It advances by `step` at each reading.
std::function<base::TimePoint()> stepping(std::chrono::nanoseconds step) {
    return [now = base::TimePoint(), step]() mutable { return now += step; };
}

struct Probe {
    explicit Probe(size_t nodes, std::optional<uint64_t> seed = std::nullopt)
        : links(nodes, Link{-1, -1}), cluster(nodes, seed) {}

    void start(size_t node, std::function<base::TimePoint()> now = &base::now) {
        cluster.start(
            node, keeping(measure_links(cluster.communicator(node), std::move(now)), links[node]));
    }

    std::vector<Link> links;
    collectives::TestCluster cluster;
};

TEST(LinkProbe, AllNodesGetTheSameLinkWithinBounds) {
    for (size_t nodes = 1; nodes <= 17; ++nodes)
        for (uint64_t seed = 0; seed < 3; ++seed) {
            Probe probe(nodes, seed == 0 ? std::nullopt : std::optional(seed));
            for (size_t node = 0; node < nodes; ++node) probe.start(node);
            probe.cluster.run_well();
            for (const Link& link : probe.links) {
                ASSERT_EQ(link, probe.links[0]) << nodes;
                EXPECT_GE(link.alpha_s, kLinkBest.alpha_s);
                EXPECT_LE(link.alpha_s, kLinkWorst.alpha_s);
                EXPECT_GE(link.beta_s_per_byte, kLinkBest.beta_s_per_byte);
                EXPECT_LE(link.beta_s_per_byte, kLinkWorst.beta_s_per_byte);
            }
        }
}

TEST(LinkProbe, OneNodeGetsTheDefaultsAndSendsNothing) {
    Probe probe(1);
    probe.start(0);
    probe.cluster.run_well();
    EXPECT_EQ(probe.links[0], Link());
    EXPECT_EQ(probe.links[0], Options().link);
    EXPECT_EQ(probe.cluster.communicator(0).counters().messages_sent, 0U);
}

TEST(LinkProbe, TheWorstNodeCounts) {
    // Every trip takes one step of the clock, whatever its size. So only the clamp is left of β.
    Probe probe(4);
    for (size_t node = 0; node < 4; ++node)
        probe.start(node, stepping(std::chrono::microseconds(node == 2 ? 300 : 20)));
    probe.cluster.run_well();
    for (const Link& link : probe.links) {
        EXPECT_DOUBLE_EQ(link.alpha_s, 150e-6);
        EXPECT_EQ(link.beta_s_per_byte, kLinkBest.beta_s_per_byte);
    }
}

TEST(LinkProbe, WhatALargeMessageTakesBeyondATinyOneIsTheBytes) {
    const auto slow_at_last = [] {
        return [looks = 0, now = base::TimePoint()]() mutable {
            // The ninth trip is the large one, from reading 17 to reading 18.
            now +=
                ++looks == 18 ? std::chrono::microseconds(2621640) : std::chrono::microseconds(200);
            return now;
        };
    };
    Probe probe(2);
    for (size_t node = 0; node < 2; ++node) probe.start(node, slow_at_last());
    probe.cluster.run_well();
    EXPECT_DOUBLE_EQ(probe.links[1].alpha_s, 100e-6);
    EXPECT_NEAR(probe.links[1].beta_s_per_byte, 1e-5, 1e-8);
}

TEST(LinkProbe, ClocksThatMakeNoSenseAreClamped) {
    const std::pair<std::chrono::nanoseconds, double> cases[] = {
        {std::chrono::hours(1), kLinkWorst.alpha_s},
        {std::chrono::nanoseconds(0), kLinkBest.alpha_s},
        {std::chrono::nanoseconds(-5), kLinkBest.alpha_s}};
    for (const auto& [step, alpha_s] : cases) {
        Probe probe(2);
        for (size_t node = 0; node < 2; ++node) probe.start(node, stepping(step));
        probe.cluster.run_well();
        EXPECT_EQ(probe.links[0].alpha_s, alpha_s);
    }
}

TEST(LinkProbe, SendsNoMoreThanItSays) {
    Probe probe(6);
    for (size_t node = 0; node < 6; ++node) probe.start(node);
    probe.cluster.run_well();
    for (size_t node = 0; node < 6; ++node) {
        const auto& counters = probe.cluster.communicator(node).counters();
        EXPECT_EQ(counters.messages_sent, 2U * 9U + 3U);
        EXPECT_LT(counters.bytes_sent, 300000U);
        EXPECT_EQ(counters.bytes_sent, counters.bytes_received);
    }
}

TEST(LinkProbe, ALostPeerEndsItEverywhereAtEveryStep) {
    for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {5}})
        for (size_t step = 0;; ++step) {
            Probe probe(4, seed);
            for (size_t node = 0; node < 4; ++node) probe.start(node);
            for (size_t i = 0; i < step; ++i) probe.cluster.network().progress();
            if (probe.cluster.all_ended()) break;
            probe.cluster.network().kill(probe.cluster.transport(2));
            probe.cluster.run();
            for (const size_t node : {0U, 1U, 3U}) {
                ASSERT_EQ(probe.cluster.ends(node), 1) << step;
                if (!probe.cluster.outcome(node)) {
                    ASSERT_EQ(probe.cluster.outcome(node).error().kind, ErrorKind::unavailable);
                }
            }
        }
}

TEST(LinkProbe, AnAbortEndsIt) {
    Probe probe(3);
    for (const size_t node : {0U, 1U}) probe.start(node);  // node 2 never starts
    probe.cluster.run();
    for (const size_t node : {0U, 1U}) {
        EXPECT_FALSE(probe.cluster.ended(node));
        probe.cluster.communicator(node).abort({ErrorKind::timeout, "progress deadline"});
        probe.cluster.transport(node).disconnect(probe.cluster.communicator(node).group().nodes[2]);
    }
    probe.cluster.run();
    for (const size_t node : {0U, 1U})
        EXPECT_EQ(probe.cluster.outcome(node).error().kind, ErrorKind::timeout);
    probe.start(0);
    EXPECT_EQ(probe.cluster.outcome(0).error().kind, ErrorKind::timeout);
}

}  // namespace
}  // namespace pace::sparse
