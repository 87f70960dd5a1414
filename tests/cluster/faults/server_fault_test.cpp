// Server fault tests: parameter servers while daemons and controllers die, freeze and come back.
// Pushes count once or not at all, and the rest goes on.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/trainers/server_worker.h"

namespace pace::cluster {
namespace {

void expect_even(const ServerWorker& worker) {
    for (uint64_t i = 1; i < worker.elements(); ++i)
        ASSERT_EQ(worker.model(i), worker.model(0)) << i;
}

// A worker that pushes ones and pulls, one step after the other, in a thread of its own.
class Trainer {
  public:
    explicit Trainer(ServerWorker& worker) : worker_(worker) {
        worker_.set_update(1);
        thread_ = std::thread([this] { run(); });
    }
    ~Trainer() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }
    // Stops the trainer after its current step. Returns the number of its steps.
    uint64_t stop() {
        stop_ = true;
        thread_.join();
        return steps_;
    }
    uint64_t steps() const { return steps_; }
    // Returns false if reaching the step takes too long.
    bool reach(uint64_t steps) const {
        const Deadline deadline = soon();
        while (steps_ < steps) {
            if (std::chrono::steady_clock::now() >= deadline) return false;
            std::this_thread::yield();
        }
        return true;
    }

  private:
    void run() {
        while (!stop_) {
            worker_.finish(worker_.push(steps_));
            worker_.finish(worker_.pull(steps_ + 1));
            expect_even(worker_);
            ++steps_;
        }
    }
    ServerWorker& worker_;
    std::atomic<bool> stop_ = false;
    std::atomic<uint64_t> steps_ = 0;
    std::thread thread_;
};

// The fate of a controller.
enum class Fate { restarted, restarted_without_journal, frozen };

void meet(Fate fate, Cluster& cluster) {
    if (fate == Fate::frozen) return cluster.freeze_controller();
    cluster.kill_controller();
    if (fate == Fate::restarted_without_journal) cluster.lose_journal();
    cluster.start_controller();
}

TEST(ServerFaults, AControllerThatReturnsGoesOnAndNothingIsLostOrCountedTwice) {
    for (const Fate fate : {Fate::restarted, Fate::restarted_without_journal, Fate::frozen}) {
        Cluster cluster({.nodes = 3});
        Workers workers = open_workers(
            cluster, {.policy = PACE_POLICY_SSP, .elements = 300, .shards = 5}, {0, 1, 2, 0});
        std::vector<std::unique_ptr<Trainer>> trainers;
        for (auto& worker : workers) trainers.push_back(std::make_unique<Trainer>(*worker));
        ASSERT_TRUE(trainers[0]->reach(20)) << cluster.logs();
        for (int life = 0; life < 3; ++life) {
            meet(fate, cluster);
            for (auto& trainer : trainers)
                ASSERT_TRUE(trainer->reach(trainer->steps() + 5)) << cluster.logs();
        }
        // A worker that stops holds up the others (SSP). So each worker leaves before the next one
        // stops.
        uint64_t steps = 0;
        for (size_t i = 1; i < workers.size(); ++i) {
            steps += trainers[i]->stop();
            workers[i].reset();
        }
        const uint64_t own = trainers[0]->stop();
        steps += own;
        workers[0]->finish(workers[0]->pull(own));
        EXPECT_EQ(workers[0]->model(0), static_cast<float>(steps)) << cluster.logs();
        expect_even(*workers[0]);
    }
}

TEST(ServerFaults, ATrainerThatIsKilledIsWaitedForNoMore) {
    Cluster cluster({.nodes = 2});
    // A child that opens a session would have to be a program of its own. Instead the daemon of
    // this session sees it go without a message.
    Workers workers = open_workers(cluster, {.policy = PACE_POLICY_BSP}, {0, 1, 1});
    workers[0]->finish(workers[0]->push(0));
    workers[1]->finish(workers[1]->push(0));
    const pace_request held = workers[0]->pull(1);
    EXPECT_EQ(workers[0]->session().wait(held, 0), PACE_TIMEOUT);
    cluster.daemon(1).signal(SIGKILL);
    // The worker's daemon is gone with half of the model.
    EXPECT_EQ(workers[0]->session().wait(held), PACE_STALE) << cluster.logs();
}

TEST(ServerFaults, TheModelIsLostWithADaemonAndABroadcastGivesItAnew) {
    Cluster cluster({.nodes = 3});
    Workers workers = open_workers(cluster, {.elements = 30, .shards = 3}, {0, 0, 2});
    for (auto& worker : workers) {
        worker->set_update(1);
        worker->finish(worker->push(0));
    }
    workers[0]->finish(workers[0]->pull(1));
    cluster.daemon(2).signal(SIGKILL);
    // The loss may be noticed at any time.
    const Deadline deadline = soon();
    pace_status status = PACE_OK;
    while (status == PACE_OK && std::chrono::steady_clock::now() < deadline)
        status = workers[0]->session().wait(workers[0]->pull(1));
    EXPECT_EQ(status, PACE_STALE) << cluster.logs();
    EXPECT_EQ(workers[1]->session().wait(workers[1]->push(1)), PACE_STALE);
    // The model that worker 0 has pulled last is the model again.
    workers[0]->set_model(5);
    const pace_request first = workers[0]->broadcast(0);
    const pace_request second = workers[1]->broadcast(0);
    workers[0]->finish(first);
    workers[1]->finish(second);
    workers[1]->finish(workers[1]->push(workers[1]->info().iteration));
    workers[1]->finish(workers[1]->pull(workers[1]->info().iteration));
    EXPECT_EQ(workers[1]->model(7), 6.0F) << cluster.logs();
    expect_even(*workers[1]);
}

// The view that reports the loss of the model also completes the round that gives the model anew.
TEST(ServerFaults, ABroadcastThatALeavingWorkerCompletesEndsTheLoss) {
    Cluster cluster({.nodes = 2});
    Workers workers = open_workers(cluster, {.elements = 30, .shards = 2}, {0, 0, 1});
    for (auto& worker : workers) worker->finish(worker->push(0));
    cluster.daemon(1).signal(SIGKILL);
    const Deadline deadline = soon();
    pace_status status = PACE_OK;
    while (status == PACE_OK && std::chrono::steady_clock::now() < deadline)
        status = workers[0]->session().wait(workers[0]->pull(1));
    ASSERT_EQ(status, PACE_STALE) << cluster.logs();
    workers[0]->set_model(5);
    const pace_request broadcast = workers[0]->broadcast(0);
    EXPECT_EQ(workers[0]->session().wait(broadcast, 0), PACE_TIMEOUT);  // waits for worker 1
    workers[1].reset();
    workers[0]->finish(broadcast);
    workers[0]->set_update(1);
    const uint64_t clock = workers[0]->info().iteration;
    workers[0]->finish(workers[0]->push(clock));
    workers[0]->finish(workers[0]->pull(clock + 1));
    EXPECT_EQ(workers[0]->model(0), 6.0F) << cluster.logs();
    expect_even(*workers[0]);
}

TEST(ServerFaults, ShardsOutliveTheWorkersOfTheirNode) {
    Cluster cluster({.nodes = 3});
    Workers workers = open_workers(cluster, {.elements = 30, .shards = 6}, {0, 1, 2});
    for (auto& worker : workers) {
        worker->set_update(1);
        worker->finish(worker->push(0));
        worker->finish(worker->pull(1));
    }
    workers[2].reset();
    workers[1].reset();
    workers[0]->finish(workers[0]->push(1));
    workers[0]->finish(workers[0]->pull(2));
    EXPECT_EQ(workers[0]->model(0), 4.0F) << cluster.logs();
    expect_even(*workers[0]);
    // The same holds over a restart of the controller. The controller then hears of nodes that have
    // no worker.
    cluster.kill_controller();
    cluster.start_controller();
    workers[0]->finish(workers[0]->push(2));
    workers[0]->finish(workers[0]->pull(3));
    EXPECT_EQ(workers[0]->model(0), 5.0F) << cluster.logs();
    expect_even(*workers[0]);
}

TEST(ServerFaults, AFrozenDaemonHoldsUpTheOthersNoLongerThanItIsWaitedFor) {
    Cluster cluster({.nodes = 3});
    Workers workers = open_workers(cluster, {.elements = 30, .shards = 2}, {0, 1, 2});
    for (auto& worker : workers) worker->finish(worker->push(0));
    cluster.daemon(2).signal(SIGSTOP);
    // The frozen daemon may keep a shard or not. In both cases the worker gets an answer.
    workers[0]->set_update(1);
    const pace_status pushed = workers[0]->session().wait(workers[0]->push(1));
    const pace_status pulled = workers[0]->session().wait(workers[0]->pull(2));
    EXPECT_TRUE(pushed == PACE_OK || pushed == PACE_STALE) << pushed;
    EXPECT_TRUE(pulled == PACE_OK || pulled == PACE_STALE) << pulled << cluster.logs();
    cluster.daemon(2).signal(SIGCONT);
}

}  // namespace
}  // namespace pace::cluster
