// Checkpoint tests: daemons of a parameter server are killed, or gone for good. The model that they
// had kept is restored, with clocks that match the model.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/faults.h"
#include "tests/cluster/trainers/server_worker.h"

namespace pace::cluster {
namespace {

using std::filesystem::directory_iterator;

constexpr uint64_t kCheckpointElements = 300;

Workers open(Cluster& cluster, ServerJob job, const std::vector<size_t>& nodes) {
    job.elements = kCheckpointElements;
    Workers workers = open_workers(cluster, std::move(job), nodes);
    for (auto& worker : workers) worker->set_update(1);
    return workers;
}

void expect_model(const ServerWorker& worker, float value) {
    for (uint64_t i = 0; i < worker.elements(); ++i) ASSERT_EQ(worker.model(i), value) << i;
}

// Each worker makes its step of this clock.
void push_all(Workers& workers, uint64_t clock) {
    for (auto& worker : workers) worker->finish(worker->push(clock));
}

// Returns the files of all checkpoints of the job on the node's disk.
std::vector<std::string> files(const Cluster& cluster, size_t node) {
    std::vector<std::string> paths;
    const std::string folder =
        cluster.checkpoints(node) + "/" + std::to_string(getuid()) + "/served.model";
    if (!std::filesystem::exists(folder)) return paths;
    for (const auto& entry : directory_iterator(folder)) paths.push_back(entry.path());
    return paths;
}

// Returns the last lines of all trainers, for failure messages.
std::string last_lines(std::vector<Process>& trainers) {
    constexpr size_t kLines = 6;
    std::string text;
    for (size_t rank = 0; rank < trainers.size(); ++rank) {
        const auto& lines = trainers[rank].lines();
        text += "\n---- trainer " + std::to_string(rank);
        for (size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i)
            text += "\n" + lines[i];
    }
    return text + "\n";
}

// Waits until the file is removed. The daemon removes it without telling the caller.
bool is_removed(const std::string& path) {
    const Deadline deadline = soon();
    while (std::filesystem::exists(path) && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    return !std::filesystem::exists(path);
}

// Waits until `count` files are left. The daemon also removes the files of a failed attempt without
// telling the caller.
bool are_left(const Cluster& cluster, size_t node, size_t count) {
    const Deadline deadline = soon();
    while (files(cluster, node).size() != count && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    return files(cluster, node).size() == count;
}

// The trainer pulls for this step until it is told that the model is another one. A broadcast then
// gives it that model.
uint64_t go_back(ServerWorker& worker, uint64_t clock, const Cluster& cluster) {
    const Deadline deadline = soon();
    pace_status status = PACE_OK;
    while (status == PACE_OK && std::chrono::steady_clock::now() < deadline)
        status = worker.session().wait(worker.pull(clock));
    EXPECT_EQ(status, PACE_STALE) << cluster.logs();
    EXPECT_NE(worker.session().complaint().find("checkpoint"), std::string::npos)
        << worker.session().complaint();
    worker.finish(worker.broadcast(0));
    return worker.info().iteration;
}

TEST(Checkpoints, ARestartedDaemonHasItsShardsAgainWithClocksThatMatch) {
    Cluster cluster({.nodes = 3});
    Workers workers = open(cluster, {.shards = 7}, {0, 1, 2});
    push_all(workers, 0);
    for (auto& worker : workers) worker->finish(worker->pull(1));
    workers[0]->finish(workers[0]->push(1));
    workers[0]->finish(workers[0]->checkpoint());
    EXPECT_GT(workers[0]->info().version, 0U);
    push_all(workers, 2);

    cluster.daemon(2).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(2).wait(soon()));
    cluster.start_daemon(2);
    EXPECT_EQ(go_back(*workers[0], 3, cluster), 2U);
    EXPECT_EQ(go_back(*workers[1], 3, cluster), 1U);
    expect_model(*workers[0], 4);
    expect_model(*workers[1], 4);
    // All workers go on from this checkpoint. The worker of the killed daemon joins anew.
    workers[0]->finish(workers[0]->push(2));
    workers[2]->finish(workers[2]->broadcast(0));
    workers[2]->finish(workers[2]->push(workers[2]->info().iteration));
    workers[2]->finish(workers[2]->pull(0));
    expect_model(*workers[2], 6);
}

TEST(Checkpoints, WhatADaemonHadThatIsGoneForGoodOthersTakeOver) {
    Cluster cluster({.nodes = 4});
    Workers workers = open(cluster, {.shards = 16}, {0, 1, 2, 3});
    push_all(workers, 0);
    for (auto& worker : workers) worker->finish(worker->pull(1));
    workers[0]->finish(workers[0]->checkpoint());
    push_all(workers, 1);
    workers[3].reset();
    cluster.daemon(3).signal(SIGKILL);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(go_back(*workers[i], 2, cluster), 1U);
        expect_model(*workers[i], 4);
    }
    // The next checkpoint has copies on the nodes that are left, so that another node may go.
    workers.pop_back();
    push_all(workers, 1);
    for (auto& worker : workers) worker->finish(worker->pull(2));
    workers[1]->finish(workers[1]->checkpoint());
    push_all(workers, 2);
    workers[2].reset();
    cluster.daemon(2).signal(SIGKILL);
    workers.pop_back();
    for (auto& worker : workers) {
        EXPECT_EQ(go_back(*worker, 3, cluster), 2U);
        expect_model(*worker, 7);
    }
}

// Writing one checkpoint takes a while. Meanwhile two workers ask for the next one.
TEST(Checkpoints, WhoAsksAtTheSameTimeGetsTheSameOne) {
    Cluster cluster({.nodes = 2});
    Workers workers = open(cluster, {.elements = 4'000'000}, {0, 1, 0});
    push_all(workers, 0);
    for (auto& worker : workers) worker->finish(worker->pull(1));
    bool same = false;
    for (int time = 0; time < 20 && !same; ++time) {
        std::vector<pace_request> asked;
        for (auto& worker : workers) asked.push_back(worker->checkpoint());
        for (size_t rank = 0; rank < 3; ++rank) workers[rank]->finish(asked[rank]);
        same = workers[1]->info().version == workers[2]->info().version;
    }
    EXPECT_TRUE(same) << "in none of twenty";
}

// Of the three daemons and the controller only the checkpoints are left.
void start_all_anew(Cluster& cluster) {
    for (size_t node = 0; node < 3; ++node) cluster.daemon(node).signal(SIGKILL);
    for (size_t node = 0; node < 3; ++node) ASSERT_TRUE(cluster.daemon(node).wait(soon()));
    cluster.kill_controller();
    cluster.lose_journal();
    cluster.start_controller();
    for (size_t node = 0; node < 3; ++node) cluster.start_daemon(node);
}

TEST(Checkpoints, AnotherJobGoesOnFromTheNewestOne) {
    Cluster cluster({.nodes = 3});
    const std::vector<size_t> nodes{0, 1, 2, 2};
    const ServerJob job{.rate = "dynamic", .shards = 5};
    float saved = 0;
    {
        Workers workers = open(cluster, job, nodes);
        for (uint64_t clock = 0; clock < 3; ++clock) push_all(workers, clock);
        workers[1]->finish(workers[1]->push(3));
        for (auto& worker : workers) worker->finish(worker->pull(worker->info().iteration));
        workers[1]->finish(workers[1]->checkpoint());
        saved = workers[1]->model(0);
        workers[0]->finish(workers[0]->push(3));
    }
    start_all_anew(cluster);
    if (HasFatalFailure()) return;
    ServerJob again = job;
    again.shards = 0;
    again.tune = [](AskedSession& options) { options.set(PACE_OPT_SERVER_RESTORE, 1); };
    Workers workers = open(cluster, again, nodes);
    for (size_t i = 0; i < workers.size(); ++i) {
        if (i % 2 == 0) {
            workers[i]->finish(workers[i]->broadcast(0));
        } else {
            workers[i]->finish(workers[i]->pull(0));
        }
        EXPECT_EQ(workers[i]->info().iteration, i == 1 ? 4U : 3U) << i;
        expect_model(*workers[i], saved);
    }
    for (auto& worker : workers) worker->finish(worker->push(worker->info().iteration));
    // Fewer workers can also go on with this checkpoint.
    workers[0]->finish(workers[0]->checkpoint());
    workers[0]->finish(workers[0]->pull(4));
    saved = workers[0]->model(0);
    workers.clear();
    workers = open(cluster, again, {0, 1, 2});
    workers[2]->finish(workers[2]->pull(0));
    expect_model(*workers[2], saved);
    EXPECT_GE(workers[2]->info().iteration, 3U);
}

TEST(Checkpoints, AreMadeAtAnIntervalAndOlderOnesRemoved) {
    Cluster cluster({.nodes = 2});
    const ServerJob job{.shards = 4, .tune = [](AskedSession& options) {
                            options.set(PACE_OPT_SERVER_CHECKPOINT_EVERY_MS, 20);
                        }};
    Workers workers = open(cluster, job, {0, 1});
    std::vector<std::string> first;
    const Deadline deadline = soon();
    uint64_t clock = 0;
    const auto all_newer = [&] {
        for (size_t node = 0; node < 2; ++node)
            for (const std::string& path : files(cluster, node))
                if (path <= first.front()) return false;
        return true;
    };
    while (std::chrono::steady_clock::now() < deadline) {
        push_all(workers, clock++);
        if (first.empty()) first = files(cluster, 0);
        if (!first.empty() && !files(cluster, 0).empty() && all_newer()) break;
    }
    ASSERT_FALSE(first.empty()) << cluster.logs();
    EXPECT_TRUE(all_newer()) << cluster.logs();
    const std::string status = cluster.pacectl(0, {"status"});
    EXPECT_NE(status.find("checkpoint: at position"), std::string::npos) << status;
}

// The moment is arbitrary. No complete checkpoint is lost, no model is torn, and training goes on.
TEST(Checkpoints, DaemonsAreKilledAtAnyStep) {
    constexpr size_t kNodes = 4;
    Cluster cluster({.nodes = kNodes});
    std::vector<Process> trainers =
        cluster.trainers(kNodes, {"--mode", "served", "--steps", "1000000", "--elements", "4096",
                                  "--checkpoint-every-ms", "5"});
    const Deadline deadline = soon();
    while (cluster.pacectl(0, {"status"}).find("checkpoint: at") == std::string::npos)
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << cluster.state();
    for (size_t life = 0; life < 12; ++life) {
        // The trainer makes a few more steps and a little of the next one.
        Process& watched = trainers[(life + 1) % kNodes];
        for (size_t step = 0; step < 3 + life % 5; ++step)
            ASSERT_TRUE(watched.wait_for("step", soon())) << cluster.state() << cluster.logs();
        cluster.daemon(life % kNodes).signal(SIGKILL);
        ASSERT_TRUE(cluster.daemon(life % kNodes).wait(soon()));
        cluster.start_daemon(life % kNodes);
        // The trainer of the killed daemon goes on as well. It broadcasts, or its next call is a
        // pull. Either gives it the model.
        for (Process& trainer : trainers) {
            let_step_from_now(trainer, 1, cluster);
            ASSERT_FALSE(HasFailure()) << life << last_lines(trainers);
        }
    }
    for (Process& trainer : trainers) {
        for (const std::string& line : trainer.lines())
            EXPECT_EQ(line.find("wrong"), std::string::npos) << line;
        trainer.signal(SIGTERM);
    }
}

TEST(Checkpoints, AFullDiskIsNamedAndOlderOnesAreLeft) {
    Cluster cluster({.nodes = 2});
    Workers workers = open(cluster, {.shards = 2}, {0, 1});
    push_all(workers, 0);
    workers[0]->finish(workers[0]->pull(1));
    workers[1]->finish(workers[1]->pull(1));
    workers[0]->finish(workers[0]->checkpoint());
    const auto before = files(cluster, 0);
    push_all(workers, 1);
    ASSERT_TRUE(cluster.daemon(1).limit_files(10));
    EXPECT_EQ(workers[0]->session().wait(workers[0]->checkpoint()), PACE_E_DISK);
    const std::string complaint = workers[0]->session().complaint();
    EXPECT_NE(complaint.find("node1"), std::string::npos) << complaint;
    EXPECT_TRUE(are_left(cluster, 1, 2));
    for (const std::string& path : before) EXPECT_TRUE(std::filesystem::exists(path)) << path;
    // The model goes on. The next checkpoint is made when there is room.
    workers[1]->finish(workers[1]->pull(2));
    expect_model(*workers[1], 4);
    ASSERT_TRUE(cluster.daemon(1).limit_files(RLIM_INFINITY));
    workers[0]->finish(workers[0]->checkpoint());
    for (const std::string& path : before) EXPECT_TRUE(is_removed(path)) << path;
}

TEST(Checkpoints, ADamagedFileIsReplacedByItsCopy) {
    Cluster cluster({.nodes = 3});
    ServerJob job{.shards = 3};
    {
        Workers workers = open(cluster, job, {0, 1, 2});
        push_all(workers, 0);
        for (auto& worker : workers) worker->finish(worker->pull(1));
        workers[0]->finish(workers[0]->checkpoint());
    }
    // Damages one of the two copies of each shard, behind the part that is read first.
    std::vector<std::string> damaged;
    for (size_t node = 0; node < 3; ++node) {
        for (const std::string& path : files(cluster, node)) {
            const std::string name = std::filesystem::path(path).filename();
            if (std::find(damaged.begin(), damaged.end(), name) != damaged.end()) continue;
            damaged.push_back(name);
            std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(-2, std::ios::end);
            file.put('x').put('y');
        }
    }
    ASSERT_EQ(damaged.size(), 3U);
    job.tune = [](AskedSession& options) { options.set(PACE_OPT_SERVER_RESTORE, 1); };
    Workers workers = open(cluster, job, {0, 1, 2});
    for (auto& worker : workers) {
        // The worker may first be told of a model that cannot be loaded.
        const Deadline deadline = soon();
        while (worker->session().wait(worker->broadcast(0)) == PACE_STALE &&
               std::chrono::steady_clock::now() < deadline) {
        }
        expect_model(*worker, 3);
    }
}

TEST(Checkpoints, WhatDoesNotFitIsRefusedByName) {
    Cluster cluster({.nodes = 1});
    ServerJob job{.shards = 2};
    {
        Workers workers = open(cluster, job, {0});
        push_all(workers, 0);
        workers[0]->finish(workers[0]->checkpoint());
    }
    const auto open_again = [&](uint64_t elements) {
        return Worker({.endpoint = cluster.endpoint(0),
                       .job = "served",
                       .policy = PACE_POLICY_ASP,
                       .tune = [elements](AskedSession& options) {
                           options.set(PACE_OPT_SERVER_ELEMENTS, elements);
                           options.set(PACE_OPT_SERVER_RESTORE, 1);
                       }});
    };
    const auto path = files(cluster, 0).front();
    {
        const Worker other = open_again(kCheckpointElements + 1);
        EXPECT_EQ(other.opened(), PACE_E_MISMATCH);
        EXPECT_NE(other.complaint().find("served.model/"), std::string::npos) << other.complaint();
        EXPECT_NE(other.complaint().find("300"), std::string::npos) << other.complaint();
    }
    EXPECT_EQ(open_again(kCheckpointElements).opened(), PACE_OK);
    for (const std::string& file : files(cluster, 0)) std::ofstream(file) << "no checkpoint";
    const Worker damaged = open_again(kCheckpointElements);
    EXPECT_EQ(damaged.opened(), PACE_E_DISK) << damaged.complaint();
    EXPECT_NE(damaged.complaint().find("served.model/"), std::string::npos) << damaged.complaint();
}

TEST(Checkpoints, WithoutAFolderThereAreNone) {
    Cluster cluster({.nodes = 2, .checkpoints = false});
    Workers workers = open(cluster, {.shards = 2}, {0, 1});
    push_all(workers, 0);
    EXPECT_EQ(workers[0]->session().wait(workers[0]->checkpoint()), PACE_E_DISK);
    EXPECT_NE(workers[0]->session().complaint().find("`checkpoints`"), std::string::npos);
    const Worker refused({.endpoint = cluster.endpoint(0),
                          .job = "other",
                          .policy = PACE_POLICY_ASP,
                          .tune = [](AskedSession& options) {
                              options.set(PACE_OPT_SERVER_ELEMENTS, 5);
                              options.set(PACE_OPT_SERVER_CHECKPOINT_EVERY_MS, 100);
                          }});
    EXPECT_EQ(refused.opened(), PACE_E_DISK);
    EXPECT_NE(refused.complaint().find("`checkpoints`"), std::string::npos) << refused.complaint();
    Worker collective({.endpoint = cluster.endpoint(0), .job = "reduces"});
    pace_request request{};
    pace_error error{};
    EXPECT_EQ(pace_checkpoint(collective.session(), nullptr, &request, &error), PACE_E_VERB);
}

}  // namespace
}  // namespace pace::cluster
