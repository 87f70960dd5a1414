// TestCluster: N nodes on an in-memory network, for tests. Each node has a communicator of one
// exchange. The cluster counts the bytes that each node sends to each other node.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop/task.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/collectives/tests/test_meter.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::collectives {

class TestCluster {
  public:
    explicit TestCluster(size_t nodes, std::optional<uint64_t> seed = std::nullopt,
                         const std::vector<bool>& contributes = {},
                         const std::vector<uint32_t>& zones = {})
        : network_(seed), started_(nodes, 0), ends_(nodes, 0), outcomes_(nodes) {
        for (size_t i = 0; i < nodes; ++i) transports_.push_back(network_.create());
        for (size_t i = 0; i < nodes; ++i) {
            Group group{.exchange = 7, .check = 1, .nodes = {}, .self = i, .contributes = {}};
            group.contributes = contributes;
            group.zones = zones;
            for (size_t j = 0; j < nodes; ++j)
                group.nodes.push_back(
                    i == j ? transports::PeerId{0}
                           : transports_[i]->connect(transports_[j]->address()).value());
            meters_.push_back(std::make_unique<TestMeter>(*transports_[i]));
            communicators_.push_back(std::make_unique<Communicator>(*meters_[i], std::move(group)));
            Communicator* communicator = communicators_.back().get();
            transports_[i]->set_peer_lost_handler(
                [communicator](transports::PeerId peer, const base::Error& error) {
                    communicator->peer_lost(peer, error);
                });
        }
    }

    // Aborts unfinished exchanges. These exchanges end with their transports. A communicator whose
    // operations have ended is destroyed before its transport.
    ~TestCluster() {
        for (size_t i = 0; i < size(); ++i) {
            if (ends_[i] != started_[i]) {
                communicators_[i]->abort({base::ErrorKind::canceled, "the test is over"});
                continue;
            }
            transports_[i]->set_peer_lost_handler({});
            communicators_[i].reset();
        }
        transports_.clear();
        for (size_t i = 0; i < size(); ++i) EXPECT_EQ(ends_[i], started_[i]) << "node " << i;
    }
    TestCluster(const TestCluster&) = delete;
    TestCluster& operator=(const TestCluster&) = delete;

    size_t size() const { return communicators_.size(); }
    Communicator& communicator(size_t node) { return *communicators_[node]; }
    transports::MemoryTransport& transport(size_t node) { return *transports_[node]; }
    transports::MemoryNetwork& network() { return network_; }
    // Bytes that the exchange sent from one node to another.
    uint64_t bytes_sent(size_t from, size_t to) const {
        return from == to ? 0 : meters_[from]->bytes_sent(communicators_[from]->group().nodes[to]);
    }

    void start(size_t node, base::Task<base::Result<>> task) {
        ++started_[node];
        base::spawn<base::Result<>>(std::move(task), [this, node](base::Result<> result) {
            ++ends_[node];
            outcomes_[node] = std::move(result);
        });
    }

    // Delivers messages until none is left.
    void run() {
        while (network_.progress()) {
        }
    }

    bool ended(size_t node) const { return ends_[node] > 0; }
    bool all_ended() const {
        for (size_t i = 0; i < size(); ++i)
            if (!ended(i)) return false;
        return true;
    }
    int ends(size_t node) const { return ends_[node]; }
    const base::Result<>& outcome(size_t node) const { return *outcomes_[node]; }

    // Runs, and expects every node to end exactly once with success.
    void run_well() {
        run();
        for (size_t i = 0; i < size(); ++i) {
            ASSERT_EQ(ends_[i], 1) << "node " << i << " of " << size();
            ASSERT_TRUE(outcome(i).ok()) << "node " << i << ": " << outcome(i).error().message;
            ASSERT_TRUE(communicators_[i]->waiting_for().empty());
        }
    }

  private:
    transports::MemoryNetwork network_;
    std::vector<std::unique_ptr<transports::MemoryTransport>> transports_;
    std::vector<std::unique_ptr<TestMeter>> meters_;
    std::vector<std::unique_ptr<Communicator>> communicators_;
    std::vector<int> started_;
    std::vector<int> ends_;
    std::vector<std::optional<base::Result<>>> outcomes_;
};

}  // namespace pace::collectives
