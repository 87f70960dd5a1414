// Status tests: what operators are told of workers is true. It concerns the length of steps, the
// use of time, and which worker is stopped or has finished.
#include <csignal>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/sanitized.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"
#include "tests/cluster/trainers/server_worker.h"
#include "tests/cluster/trainers/trainer_steps.h"

namespace pace::cluster {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

Json status_of(Cluster& cluster) {
    const Json document = Json::parse(cluster.pacectl(0, {"status", "--json"}), nullptr, false);
    EXPECT_TRUE(document.is_object());
    return document.is_object() ? document : Json::object();
}

// Returns the worker of the first job. Null means that there is none.
Json worker_of(const Json& status, uint32_t rank) {
    if (!status.contains("jobs")) return nullptr;
    for (const Json& job : status["jobs"])
        for (const Json& worker : job["workers"])
            if (worker["rank"] == rank) return worker;
    return nullptr;
}

// Asks until the condition holds. Returns the last document.
Json until(Cluster& cluster, Deadline deadline, const std::function<bool(const Json&)>& holds) {
    Json status = status_of(cluster);
    while (!holds(status) && std::chrono::steady_clock::now() < deadline)
        status = status_of(cluster);
    EXPECT_TRUE(holds(status)) << status.dump(1) << cluster.logs();
    return status;
}

// A worker that computes for a known time, over and over. It has measured how long that really
// took.
class Stepper {
  public:
    // `call` is the exchange at the end of a step.
    Stepper(milliseconds step, std::function<void(uint64_t)> call)
        : step_(step), call_(std::move(call)), thread_([this] { run(); }) {}
    ~Stepper() { stop(); }
    Stepper(const Stepper&) = delete;
    Stepper& operator=(const Stepper&) = delete;

    void ask_to_stop() { stopping_ = true; }
    void stop() {
        ask_to_stop();
        if (thread_.joinable()) thread_.join();
    }
    // The steps of the last nine heartbeats, in milliseconds: their median and their mean.
    struct Taken {
        double median_ms = 0;
        double mean_ms = 0;
    };
    Taken taken(milliseconds heartbeat) {
        const auto since = std::chrono::steady_clock::now() - 9 * heartbeat;
        const std::lock_guard lock(mutex_);
        std::vector<double> last;
        double sum_ms = 0;
        for (auto step = steps_.rbegin(); step != steps_.rend() && step->ended >= since; ++step) {
            last.push_back(step->took_ms);
            sum_ms += step->took_ms;
        }
        if (last.empty()) return {};
        std::sort(last.begin(), last.end());
        return {last[last.size() / 2], sum_ms / static_cast<double>(last.size())};
    }

  private:
    void run() {
        for (uint64_t step = 1; !stopping_; ++step) {
            const auto begin = std::chrono::steady_clock::now();
            compute(static_cast<uint32_t>(std::chrono::microseconds(step_).count()));
            const double took_ms =
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                    .count();
            call_(step);
            const std::lock_guard lock(mutex_);
            steps_.push_back({std::chrono::steady_clock::now(), took_ms});
        }
    }

    milliseconds step_;
    std::function<void(uint64_t)> call_;
    std::atomic<bool> stopping_ = false;
    std::mutex mutex_;
    struct Step {
        std::chrono::steady_clock::time_point ended;
        double took_ms = 0;
    };
    std::vector<Step> steps_;
    std::thread thread_;
};

// The tolerance is five percent, and the time to wake a process on a busy machine. If steps differ,
// the shown number is a median of means over each heartbeat. It lies between the steps' median and
// their mean.
bool is_near(double shown_ms, const Stepper::Taken& truth) {
    const auto [least, most] = std::minmax(truth.median_ms, truth.mean_ms);
    return shown_ms > 0 && least > 0 && shown_ms >= 0.95 * least - 3 && shown_ms <= 1.05 * most + 3;
}

// The document says what each of the two workers did with its time.
void expect_accounted(const Json& status) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
        const Json worker = worker_of(status, rank);
        for (const char* key : {"computed", "exchanged"})
            EXPECT_GT(worker[key]["total_s"], 0.0) << key << worker;
        EXPECT_GE(worker["waited"]["median_ms"], 0.0) << worker;
    }
    // The fast worker waits for the slow one. This time is a wait, not an exchange.
    const Json first = worker_of(status, 0);
    EXPECT_GT(first["waited"]["total_s"].get<double>(),
              2 * first["exchanged"]["total_s"].get<double>())
        << first;
}

struct ToldCase {
    const char* name;
    const char* policy;
    uint32_t heartbeat_ms;
    // The step time of rank 0. Rank 1 takes three times as long.
    int step_ms;
};

// Rank 0 is on node 0, and rank 1 is on node 1.
class Told : public testing::TestWithParam<ToldCase> {
  protected:
    std::function<void(uint64_t)> caller(uint32_t rank) {
        const std::string policy = GetParam().policy;
        if (policy == PACE_POLICY_SSP) {
            ServerWorker* const worker = served_[rank].get();
            return [worker](uint64_t step) {
                worker->finish(worker->push(step - 1));
                worker->finish(worker->pull(step));
            };
        }
        Worker* const worker = workers_[rank].get();
        if (policy == PACE_POLICY_ALL_REDUCE)
            return [worker](uint64_t) { worker->finish(worker->reduce()); };
        return [worker](uint64_t step) { worker->finish(worker->average(step)); };
    }
    void open() {
        const std::string policy = GetParam().policy;
        if (policy == PACE_POLICY_SSP) {
            ServerJob job;
            job.policy = policy;
            job.tune = [](AskedSession& asked) { asked.set(PACE_OPT_SERVER_STALENESS, 2); };
            served_ = open_workers(*cluster_, job, {0, 1});
            return;
        }
        for (uint32_t rank = 0; rank < 2; ++rank) {
            workers_.push_back(std::make_unique<Worker>(
                WorkerOptions{.endpoint = cluster_->endpoint(rank),
                              .rank = rank,
                              .world = 2,
                              .policy = policy,
                              .group_size = policy == PACE_POLICY_PARTIAL_REDUCE ? 2U : 0U}));
            ASSERT_EQ(workers_.back()->opened(), PACE_OK) << workers_.back()->complaint();
            workers_.back()->add_floats(1000, 1);
        }
    }

    // The time must be shown right in three documents of different moments, one after the other.
    void expect_right_times(Stepper& quick, Stepper& slow) {
        const milliseconds heartbeat(GetParam().heartbeat_ms);
        int right = 0;
        int64_t last_us = 0;
        std::string wrong = "nothing";
        until(*cluster_, soon(), [&](const Json& status) {
            const int64_t now_us = status.value("clock_us", int64_t{0});
            const Json first = worker_of(status, 0);
            const Json second = worker_of(status, 1);
            if (first.is_null() || second.is_null()) return false;
            if (now_us - last_us < int64_t{1000} * GetParam().heartbeat_ms) return right >= 3;
            last_us = now_us;
            const bool near = is_near(first["step_median_ms"], quick.taken(heartbeat)) &&
                              is_near(second["step_median_ms"], slow.taken(heartbeat));
            right = near ? right + 1 : 0;
            wrong = first.dump() + second.dump() + ", in truth " +
                    std::to_string(quick.taken(heartbeat).mean_ms) + " and " +
                    std::to_string(slow.taken(heartbeat).mean_ms);
            return right >= 3;
        });
        EXPECT_GE(right, 3) << wrong;
    }

    std::unique_ptr<Cluster> cluster_;
    std::vector<std::unique_ptr<Worker>> workers_;
    Workers served_;
};

TEST_P(Told, StepsAreThoseOfTheWorkerAndItsTimeIsAccountedFor) {
    cluster_ = std::make_unique<Cluster>(Cluster::Options{
        .nodes = 2,
        .controller_flags = {"--heartbeat-ms", std::to_string(GetParam().heartbeat_ms)}});
    open();
    const milliseconds step(GetParam().step_ms);
    const milliseconds heartbeat(GetParam().heartbeat_ms);
    Stepper quick(step, caller(0));
    Stepper slow(3 * step, caller(1));
    expect_right_times(quick, slow);
    const Json status = status_of(*cluster_);
    quick.ask_to_stop();
    slow.ask_to_stop();
    expect_accounted(status);
    const Json second = worker_of(status, 1);
    ASSERT_FALSE(second["slow"].is_null()) << second;
    EXPECT_EQ(second["slow"]["why"], "computing");
    const double factor = slow.taken(heartbeat).median_ms / quick.taken(heartbeat).median_ms;
    EXPECT_NEAR(second["slow"]["factor"].get<double>(), factor, factor / 3);
    EXPECT_TRUE(worker_of(status, 0)["slow"].is_null()) << status;
    // No worker waits for a worker that has left.
    std::thread ends([&] { quick.stop(); });
    slow.stop();
    if (!workers_.empty()) workers_[1].reset();
    if (!served_.empty()) served_[1].reset();
    ends.join();
}

INSTANTIATE_TEST_SUITE_P(
    All, Told,
    testing::Values(ToldCase{"all_reduce", PACE_POLICY_ALL_REDUCE, 100, 30},
                    ToldCase{"all_reduce_seldom", PACE_POLICY_ALL_REDUCE, 1000, 30},
                    ToldCase{"all_reduce_long", PACE_POLICY_ALL_REDUCE, 100, 250},
                    ToldCase{"partial_reduce", PACE_POLICY_PARTIAL_REDUCE, 100, 30},
                    ToldCase{"prague_static", PACE_POLICY_PRAGUE_STATIC, 100, 30},
                    ToldCase{"ssp", PACE_POLICY_SSP, 100, 30}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(ToldOfProcesses, AStoppedWorkerIsNamedWithinTwoSeconds) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(4, {"--steps", "1000000000", "--step-us", "1000"});
    ASSERT_TRUE(trainers.front().wait_for("step 20", soon())) << cluster.logs();
    trainers[3].signal(SIGSTOP);
    const auto stopped_at = std::chrono::steady_clock::now();
    const Json status = until(cluster, soon(), [](const Json& document) {
        const Json worker = worker_of(document, 3);
        return !worker.is_null() && worker["activity"] == "stopped" && !worker["slow"].is_null();
    });
    EXPECT_LT(std::chrono::steady_clock::now() - stopped_at,
              std::chrono::seconds(base::kSanitized ? 10 : 2));
    const Json worker = worker_of(status, 3);
    EXPECT_EQ(worker["slow"]["why"], "stopped");
    EXPECT_NE(worker["slow"]["text"].get<std::string>().find("stopped by a signal"),
              std::string::npos);
    const auto has_event = [](const Json& document, const char* kind) {
        return std::any_of(document["events"].begin(), document["events"].end(),
                           [kind](const Json& event) { return event["kind"] == kind; });
    };
    EXPECT_TRUE(has_event(status, "worker-stopped")) << status["events"];
    trainers[3].signal(SIGCONT);
    until(cluster, soon(), [&](const Json& document) {
        return has_event(document, "worker-goes-on") &&
               worker_of(document, 3)["activity"] != "stopped";
    });
}

TEST(ToldOfProcesses, EventsTellTheLifeOfAJobAndOfTheController) {
    Cluster cluster({.nodes = 2});
    auto trainers = cluster.trainers(2, {"--steps", "5"});
    for (Process& trainer : trainers) EXPECT_EQ(trainer.wait(soon()), 0) << cluster.logs();
    const auto kinds = [](const Json& status) {
        std::vector<std::string> all;
        for (const Json& event : status["events"]) all.push_back(event["kind"]);
        return all;
    };
    const auto has = [&](const Json& status, const char* kind) {
        const auto all = kinds(status);
        return std::find(all.begin(), all.end(), kind) != all.end();
    };
    const Json status =
        until(cluster, soon(), [&](const Json& document) { return has(document, "job-ended"); });
    for (const char* kind : {"controller-started", "node-attached", "job-created", "worker-joined",
                             "job-started", "view-changed", "worker-left", "job-finished"})
        EXPECT_TRUE(has(status, kind)) << kind;
    uint64_t before = status["events_first"].get<uint64_t>() - 1;
    for (const Json& event : status["events"]) {
        EXPECT_GT(event["number"].get<uint64_t>(), before);
        before = event["number"];
    }
    cluster.kill_controller();
    cluster.start_controller();
    const Json after = until(cluster, soon(), [&](const Json& document) {
        return has(document, "controller-started") && has(document, "node-attached");
    });
    EXPECT_EQ(kinds(after).front(), "controller-started");
}

}  // namespace
}  // namespace pace::cluster
