// Team: the workers of a server job, in the test's own process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/trainers/server_worker.h"

namespace pace::cluster {

// The workers of one job, each on the named node.
class Team {
  public:
    Team(Cluster& cluster, ServerJob job, const std::vector<size_t>& nodes) : job_(std::move(job)) {
        job_.world = static_cast<uint32_t>(nodes.size());
        workers_ = open_workers(cluster, job_, nodes);
    }
    ServerWorker& operator[](uint32_t rank) { return *workers_[rank]; }
    uint32_t size() const { return static_cast<uint32_t>(workers_.size()); }
    const ServerJob& job() const { return job_; }
    void leave(uint32_t rank) { workers_[rank].reset(); }
    void join(Cluster& cluster, size_t node, uint32_t rank) {
        workers_[rank] = std::make_unique<ServerWorker>(cluster.endpoint(node), job_, rank);
    }

    // Runs each worker in a thread of its own.
    void everyone(const std::function<void(ServerWorker&, uint32_t)>& work) {
        std::vector<std::thread> threads;
        for (uint32_t rank = 0; rank < size(); ++rank)
            threads.emplace_back([&, rank] { work(*workers_[rank], rank); });
        for (std::thread& thread : threads) thread.join();
    }
    // Gives every worker this model.
    void broadcast(float value) {
        everyone([value](ServerWorker& worker, uint32_t rank) {
            worker.set_model(rank == 0 ? value : -1);
            worker.finish(worker.broadcast(0));
            EXPECT_EQ(worker.model(worker.elements() - 1), value);
        });
    }

  private:
    ServerJob job_;
    Workers workers_;
};

// Pulls until the model has this value. It may take a moment until the updates of others have got
// their places.
inline void expect_model(ServerWorker& worker, uint64_t clock, float value) {
    const Deadline deadline = soon();
    do {
        worker.finish(worker.pull(clock));
    } while (worker.model(0) != value && std::chrono::steady_clock::now() < deadline);
    for (uint64_t i = 0; i < worker.elements(); ++i) ASSERT_EQ(worker.model(i), value) << i;
}

}  // namespace pace::cluster
