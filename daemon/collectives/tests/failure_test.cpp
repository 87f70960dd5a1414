// Failure tests: check what happens to the survivors of a collective when a node dies, freezes or
// disagrees. The tests try every step.
#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/messages/barrier.h"
#include "daemon/collectives/messages/broadcast.h"
#include "daemon/collectives/messages/transfer.h"
#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/collectives/tests/test_data.h"

namespace pace::collectives {
namespace {

using base::ErrorKind;
using protocol::DType;

constexpr size_t kNodes = 5;
// The vector is larger than what the in-memory network copies at once. So chunks of 8192 bytes use
// a rendezvous.
const Layout kLongLayout({{DType::f32, 30000}});

struct Collective {
    std::string name;
    std::function<base::Task<base::Result<>>(Communicator&, const LocalPart&, std::span<std::byte>)>
        start;
    bool is_sum = false;
    std::vector<uint32_t> zones = {};
    std::vector<bool> contributes = {};
};

// With zones, the all-reduce uses relays.
base::Task<base::Result<>> in_chunks(Communicator& communicator, const LocalPart& part,
                                     std::span<std::byte> result) {
    AllReduceOptions options;
    options.small_bytes_max = 0;
    options.chunk_bytes_min = options.chunk_bytes_max = 8192;
    options.window = 2;
    return all_reduce(communicator, part, 1.0, result, options);
}

std::vector<Collective> collectives() {
    return {{"direct", in_chunks, true},
            {"zoned", in_chunks, true, {1, 2, 2, 1, 2}},
            {"direct, one contributes", in_chunks, true, {}, {false, true, false, false, false}},
            {"zoned, one contributes",
             in_chunks,
             true,
             {1, 2, 2, 1, 2},
             {false, true, false, false, false}},
            {"bruck",
             [](Communicator& communicator, const LocalPart& part, std::span<std::byte> result) {
                 AllReduceOptions options;
                 options.small_bytes_max = SIZE_MAX;
                 return all_reduce(communicator, part, 1.0, result, options);
             },
             true},
            {"tree",
             [](Communicator& communicator, const LocalPart&, std::span<std::byte> result) {
                 BroadcastOptions options;
                 options.small_bytes_max = SIZE_MAX;
                 return broadcast(communicator, 1, result, options);
             }},
            {"chunked broadcast",
             [](Communicator& communicator, const LocalPart&, std::span<std::byte> result) {
                 BroadcastOptions options;
                 options.chunk_bytes_min = options.chunk_bytes_max = 8192;
                 options.window = 3;
                 return broadcast(communicator, 1, result, options);
             }},
            {"barrier", [](Communicator& communicator, const LocalPart&, std::span<std::byte>) {
                 return barrier(communicator);
             }}};
}

// The former contents of the results' memory.
constexpr std::byte kBefore{0xA5};

// One run of a collective on a cluster. The members' buffers must not change.
struct Trial {
    Trial(const Collective& collective, std::optional<uint64_t> seed)
        : cluster(kNodes, seed, collective.contributes, collective.zones) {
        base::Random random(1);
        for (size_t i = 0; i < kNodes; ++i) {
            // Some partials are computed, others are a member's own memory.
            workers.push_back({random_worker(kLongLayout, 1.0, random)});
            if (i % 2 == 0) workers.back().push_back(random_worker(kLongLayout, 0.5, random));
            parts.push_back(local_part(kLongLayout, workers.back()));
        }
        before = workers;
        results.assign(kNodes, Bytes(kLongLayout.bytes(), kBefore));
        for (size_t i = 0; i < kNodes; ++i)
            cluster.start(i, collective.start(cluster.communicator(i), parts[i], results[i]));
    }

    // Returns false if all collectives had ended before.
    bool run_steps(size_t steps) {
        for (size_t i = 0; i < steps; ++i) {
            if (cluster.all_ended()) return false;
            cluster.network().progress();
        }
        return !cluster.all_ended();
    }

    // A sum writes nothing to its result before all contributors have begun.
    void expect_results_unchanged_unless_begun() {
        for (size_t i = 0; i < kNodes; ++i) {
            if (cluster.communicator(i).result_begun()) continue;
            ASSERT_TRUE(std::all_of(results[i].begin(), results[i].end(),
                                    [](std::byte byte) { return byte == kBefore; }))
                << "node " << i;
        }
    }

    void expect_inputs_unchanged() const {
        for (size_t i = 0; i < kNodes; ++i)
            for (size_t w = 0; w < workers[i].size(); ++w)
                ASSERT_TRUE(workers[i][w].segments == before[i][w].segments);
    }

    std::vector<std::vector<Worker>> workers;
    std::vector<std::vector<Worker>> before;
    std::vector<LocalPart> parts;
    std::vector<Bytes> results;
    // The cluster is the last member. Its destructor ends operations that use the other members.
    TestCluster cluster;
};

TEST(Failure, AKilledNodeEndsTheCollectiveOfEverySurvivorOnce) {
    for (const Collective& collective : collectives())
        for (const size_t victim : {size_t{0}, size_t{1}, size_t{4}})
            for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {11}}) {
                for (size_t step = 0;; step += seed ? 3 : 1) {
                    Trial trial(collective, seed);
                    if (!trial.run_steps(step)) break;
                    trial.cluster.network().kill(trial.cluster.transport(victim));
                    trial.cluster.run();
                    for (size_t i = 0; i < kNodes; ++i) {
                        if (i == victim) continue;
                        ASSERT_EQ(trial.cluster.ends(i), 1)
                            << collective.name << ", node " << i << ", victim " << victim
                            << " killed at step " << step;
                        if (!trial.cluster.outcome(i)) {
                            const ErrorKind kind = trial.cluster.outcome(i).error().kind;
                            ASSERT_EQ(kind, ErrorKind::unavailable) << error_kind_name(kind);
                        }
                        ASSERT_TRUE(trial.cluster.communicator(i).waiting_for().empty());
                    }
                    trial.expect_inputs_unchanged();
                    if (collective.is_sum) trial.expect_results_unchanged_unless_begun();
                }
            }
}

TEST(Failure, ASumThatOneNodeNeverBeginsLeavesTheResultsMemoryAlone) {
    for (const Collective& collective : collectives()) {
        // A sum may begin without a node that contributes nothing.
        if (!collective.is_sum || !collective.contributes.empty()) continue;
        Trial trial(collective, std::nullopt);
        trial.cluster.network().freeze(trial.cluster.transport(2));
        trial.cluster.run();
        for (size_t i = 0; i < kNodes; ++i) {
            EXPECT_FALSE(trial.cluster.ended(i));
            EXPECT_FALSE(trial.cluster.communicator(i).result_begun());
        }
        trial.expect_results_unchanged_unless_begun();
    }
}

TEST(Failure, KilledBeforeTheStartMeansAnErrorForAllWhoNeedIt) {
    for (const Collective& collective : collectives()) {
        Trial trial(collective, std::nullopt);
        trial.cluster.network().kill(trial.cluster.transport(1));
        trial.cluster.run();
        for (size_t i = 0; i < kNodes; ++i)
            if (i != 1) {
                EXPECT_FALSE(trial.cluster.outcome(i).ok()) << collective.name << " " << i;
            }
    }
}

TEST(Failure, AFrozenNodeIsNamedAndDisconnectingItEndsTheCollective) {
    for (const Collective& collective : collectives())
        for (const size_t victim : {size_t{1}, size_t{3}})
            for (size_t step = 0;; ++step) {
                Trial trial(collective, std::nullopt);
                if (!trial.run_steps(step)) break;
                trial.cluster.network().freeze(trial.cluster.transport(victim));
                trial.cluster.run();
                // This is what the daemon does after its progress deadline: it ends the exchange,
                // then disconnects the culprit.
                for (size_t i = 0; i < kNodes; ++i) {
                    if (i == victim || trial.cluster.ended(i)) continue;
                    const std::vector<size_t> waiting = trial.cluster.communicator(i).waiting_for();
                    ASSERT_FALSE(waiting.empty()) << collective.name << " at step " << step;
                    if (collective.name == "direct") {
                        ASSERT_NE(std::find(waiting.begin(), waiting.end(), victim), waiting.end());
                    }
                    trial.cluster.communicator(i).abort({ErrorKind::timeout, "progress deadline"});
                    trial.cluster.communicator(i).abort({ErrorKind::internal, "not the first"});
                    trial.cluster.transport(i).disconnect(
                        trial.cluster.communicator(i).group().nodes[victim]);
                }
                trial.cluster.run();
                for (size_t i = 0; i < kNodes; ++i) {
                    if (i == victim) continue;
                    ASSERT_EQ(trial.cluster.ends(i), 1) << collective.name << " at step " << step;
                    if (!trial.cluster.outcome(i)) {
                        ASSERT_EQ(trial.cluster.outcome(i).error().kind, ErrorKind::timeout);
                    }
                }
                trial.expect_inputs_unchanged();
            }
}

TEST(Failure, NodesThatDisagreeAboutTheExchangeAreTold) {
    transports::MemoryNetwork network;
    const auto a = network.create();
    const auto b = network.create();
    Communicator ca(*a, {1, 10, {0, a->connect(b->address()).value()}, 0, {}});
    Communicator cb(*b, {1, 11, {b->connect(a->address()).value(), 0}, 1, {}});
    std::vector<base::Result<>> outcomes;
    for (Communicator* communicator : {&ca, &cb})
        base::spawn<base::Result<>>(barrier(*communicator), [&](base::Result<> result) {
            outcomes.push_back(std::move(result));
        });
    while (network.progress()) {
    }
    ASSERT_EQ(outcomes.size(), 2U);
    for (const auto& outcome : outcomes) EXPECT_EQ(outcome.error().kind, ErrorKind::mismatch);
}

TEST(Failure, AnAbortedCommunicatorRefusesWhatComesAfter) {
    TestCluster cluster(3);
    cluster.communicator(0).abort({ErrorKind::canceled, "no more"});
    cluster.start(0, barrier(cluster.communicator(0)));
    ASSERT_TRUE(cluster.ended(0));
    EXPECT_EQ(cluster.outcome(0).error().message, "no more");
}

TEST(Failure, AbortEndsATransferWhoseOtherSideNeverComes) {
    TestCluster cluster(2);
    Bytes bytes(100000);
    cluster.start(0, transfer_from(cluster.communicator(0), 1, bytes, TransferOptions()));
    cluster.run();
    EXPECT_FALSE(cluster.ended(0));
    EXPECT_EQ(cluster.communicator(0).waiting_for(), std::vector<size_t>{1});
    cluster.communicator(0).abort({ErrorKind::timeout, "late"});
    cluster.run();
    EXPECT_EQ(cluster.outcome(0).error().kind, ErrorKind::timeout);
}

// The memory is freed while the transport sends from it and receives into it.
base::Task<base::Result<>> starved(Communicator& communicator) {
    std::vector<std::byte> sent(100'000);
    std::vector<std::byte> received(100'000);
    Operation sending;
    Operation receiving;
    Operation ended;
    communicator.post_send(ended, 1, 3, {});
    communicator.note(co_await ended.ended());
    communicator.post_send(sending, 1, 1, sent);
    communicator.post_receive(receiving, 1, 2, received);
    throw std::bad_alloc();
}

base::Task<base::Result<>> well_fed(Communicator& communicator) {
    std::vector<std::byte> sent(100'000);
    std::vector<std::byte> received(100'000);
    Operation sending;
    Operation receiving;
    communicator.post_send(sending, 0, 2, sent);
    communicator.post_receive(receiving, 0, 1, received);
    communicator.note(co_await sending.ended());
    communicator.note(co_await receiving.ended());
    co_return communicator.status();
}

TEST(Memory, ThatACollectiveDoesNotFindEndsItWithoutTouchingWhatItHad) {
    TestCluster cluster(3);
    cluster.start(0, starved(cluster.communicator(0)));
    cluster.start(1, well_fed(cluster.communicator(1)));
    std::optional<transports::PeerId> lost;
    cluster.transport(0).set_peer_lost_handler(
        [&](transports::PeerId peer, const base::Error&) { lost = peer; });
    cluster.run();
    ASSERT_TRUE(cluster.ended(0));
    ASSERT_FALSE(cluster.outcome(0));
    EXPECT_EQ(cluster.outcome(0).error().kind, ErrorKind::memory);
    EXPECT_TRUE(cluster.communicator(0).aborted());
    EXPECT_TRUE(cluster.communicator(0).waiting_for().empty());
    ASSERT_TRUE(lost) << "the peer is connected anew by whoever hears this";
    EXPECT_EQ(*lost, cluster.communicator(0).group().nodes[1]);
}

TEST(Memory, ThatACollectiveDoesNotFindMayEndTheCommunicatorAtOnce) {
    transports::MemoryNetwork network;
    const auto here = network.create();
    const auto there = network.create();
    Group group{.exchange = 7, .check = 1, .nodes = {}, .self = 0, .contributes = {}};
    group.nodes = {0, here->connect(there->address()).value()};
    auto communicator = std::make_unique<Communicator>(*here, group);
    std::optional<base::Result<>> outcome;
    base::spawn<base::Result<>>(starved(*communicator), [&](const base::Result<>& result) {
        outcome = result;
        communicator.reset();
    });
    while (network.progress()) {
    }
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->error().kind, ErrorKind::memory);
}

}  // namespace
}  // namespace pace::collectives
