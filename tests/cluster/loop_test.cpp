// The daemon's event loop serves every client and every heartbeat: nothing that a client asks for may hold it up, however large its
// model is. The daemons measure it themselves, without the time in which the machine gave them no processor.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cluster.h"
#include "flood.h"
#include "libclient/link.h"
#include "protocol/version.h"
#include "team.h"
#include "worker.h"

namespace pace::cluster {
namespace {

namespace fb = protocol::client;

constexpr double kLoopMsMax = 100;
constexpr uint64_t kMebi = uint64_t{1} << 20U;

// PACE_TEST_MODEL_MIB names a larger one.
uint64_t model_bytes() {
    const char* const named = std::getenv("PACE_TEST_MODEL_MIB");
    return (named == nullptr ? 1024 : std::strtoull(named, nullptr, 10)) * kMebi;
}
uint64_t model_floats() {
    return model_bytes() / sizeof(float);
}

// So much must be there, in models, and as much again for everybody else.
bool has_room_for(uint64_t models) {
    FILE* const file = fopen("/proc/meminfo", "r");
    unsigned long long kibi = 0;
    char line[256];
    while (file != nullptr && fgets(line, sizeof(line), file) != nullptr)
        if (sscanf(line, "MemAvailable: %llu kB", &kibi) == 1) break;
    if (file != nullptr) fclose(file);
    return kibi * 1024 > 2 * models * model_bytes();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsMeasured = false;
#else
constexpr bool kIsMeasured = true;
#endif

#define SKIP_WITHOUT_ROOM_FOR(models)                                                           \
    if (!kIsMeasured) GTEST_SKIP() << "measures time, which a sanitizer's build takes more of"; \
    if (!has_room_for(models))                                                                  \
    GTEST_SKIP() << "needs memory for " << 2 * (models) << " models of " << model_bytes()       \
                 << " bytes"

std::vector<std::string> room_for_models() {
    return {"--client-bytes-max", fmt::format("{}", 8 * model_bytes())};
}

// No daemon's loop stood still, and none was taken for dead.
void expect_calm(Cluster& cluster, size_t nodes) {
    for (size_t node = 0; node < nodes; ++node) {
        const auto document = nlohmann::json::parse(cluster.pacectl(node, {"daemon", "--json"}));
        const auto& loop = document.at("loop");
        EXPECT_LT(loop.at("longest_ms").get<double>(), kLoopMsMax)
            << "node " << node << ": " << loop.dump();
    }
    const std::string logs = cluster.logs();
    EXPECT_EQ(logs.find("silent for"), std::string::npos) << logs;
    EXPECT_EQ(logs.find("excluded"), std::string::npos) << logs;
}

struct Pair {
    Pair(Cluster& cluster, WorkerOptions options) {
        for (uint32_t rank = 0; rank < 2; ++rank) {
            options.endpoint = cluster.endpoint(rank);
            options.rank = rank;
            options.world = 2;
            options.tune = [tune = options.tune](pace_job_options& job) {
                job.worker_timeout_ms = 600000;
                if (tune) tune(job);
            };
            workers.emplace_back(options);
            EXPECT_EQ(workers.back().opened(), PACE_OK) << workers.back().complaint();
            data.push_back(workers.back().add_floats(model_floats(), static_cast<float>(rank + 1)));
        }
    }
    template <typename Verb>
    void both(Verb&& verb) {
        std::vector<pace_request> requests;
        for (Worker& worker : workers) requests.push_back(verb(worker));
        for (size_t i = 0; i < workers.size(); ++i) workers[i].finish(requests[i]);
    }
    void expect_value(float value) const {
        for (const float* const own : data)
            for (const uint64_t i : {uint64_t{0}, model_floats() / 2, model_floats() - 1})
                ASSERT_EQ(own[i], value) << i;
    }
    void set(float value) {
        for (float* const own : data) std::fill_n(own, model_floats(), value);
    }
    std::vector<Worker> workers;
    std::vector<float*> data;
};

pace_request sync(Worker& worker) {
    pace_request request{};
    pace_error error{};
    EXPECT_EQ(pace_sync(worker.session(), worker.buffers().data(), worker.buffers().size(),
                        &request, &error),
              PACE_OK)
        << error.message;
    return request;
}

TEST(Loop, GoesOnWhileALargeBufferComesAndGoes) {
    SKIP_WITHOUT_ROOM_FOR(1);
    Cluster cluster({.nodes = 1, .daemon_flags = room_for_models()});
    {
        Worker worker({.endpoint = cluster.endpoint(0)});
        ASSERT_NE(worker.add_buffer(PACE_F32, model_floats()), nullptr) << worker.complaint();
        pace_error error{};
        EXPECT_EQ(pace_buffer_free(worker.session(), worker.buffers()[0], &error), PACE_OK);
        Worker other({.endpoint = cluster.endpoint(0), .job = "other"});
        ASSERT_NE(other.add_buffer(PACE_F32, model_floats()), nullptr) << other.complaint();
    }
    expect_calm(cluster, 1);
}

TEST(Loop, GoesOnDuringRoundsOfALargeModel) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {});
        pair.both([](Worker& worker) { return worker.broadcast(1); });
        pair.expect_value(2);
        pair.both([](Worker& worker) { return worker.reduce(); });
        pair.expect_value(4);
        pair.both(sync);
        pair.expect_value(4);
        pair.both([](Worker& worker) { return worker.barrier(); });
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

TEST(Loop, GoesOnDuringRoundsInHalvesThatRefuseWhatIsNoNumber) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.tune = [](pace_job_options& job) {
                      job.compression = PACE_COMPRESSION_F16;
                      job.reject_nonfinite = 1;
                  }});
        pair.both([](Worker& worker) { return worker.reduce(); });
        pair.expect_value(3);
    }
    expect_calm(cluster, 2);
}

TEST(Loop, GoesOnDuringAveragesOfALargeModel) {
    SKIP_WITHOUT_ROOM_FOR(6);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster,
                  {.policy = PACE_POLICY_PARTIAL_REDUCE,
                   .group_size = 2,
                   .weights = PACE_WEIGHTS_DYNAMIC,
                   .tune = [](pace_job_options& job) { job.missing = PACE_MISSING_INITIAL; }});
        pair.both([](Worker& worker) { return worker.broadcast(0); });
        pair.expect_value(1);
        pair.both([](Worker& worker) { return worker.average(1); });
        pair.expect_value(1);
        pair.set(3);
        pair.both([](Worker& worker) { return worker.average(2); });
    }
    expect_calm(cluster, 2);
}

TEST(Loop, GoesOnWhileANewcomerIsGivenALargeModel) {
    SKIP_WITHOUT_ROOM_FOR(6);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {});
        pair.both([](Worker& worker) { return worker.broadcast(0); });
        pair.both([](Worker& worker) { return worker.reduce(); });
        pair.set(5);
        pair.workers.pop_back();
        pair.data.pop_back();
        Worker newcomer({.endpoint = cluster.endpoint(1),
                         .rank = 1,
                         .world = 2,
                         .tune = [](pace_job_options& job) { job.worker_timeout_ms = 600000; }});
        ASSERT_EQ(newcomer.opened(), PACE_OK) << newcomer.complaint();
        const float* const model = newcomer.add_floats(model_floats(), 0);
        const pace_request adopted = newcomer.broadcast(0);
        // A worker that is alone meets nobody: it calls again until the newcomer is there, which takes the model then.
        pace_request barrier = pair.workers[0].barrier();
        const auto newcomer_ends = [&](pace_request request) {
            pace_status status = PACE_TIMEOUT;
            while ((status = newcomer.wait(request, 50)) == PACE_TIMEOUT)
                if (pair.workers[0].wait(barrier, 0) == PACE_OK)
                    barrier = pair.workers[0].barrier();
            EXPECT_EQ(status, PACE_OK);
        };
        newcomer_ends(adopted);
        newcomer_ends(newcomer.barrier());
        for (const uint64_t i : {uint64_t{0}, model_floats() - 1}) EXPECT_EQ(model[i], 5);
    }
    expect_calm(cluster, 2);
}

// Worker 1 comes late to two rounds, and gets what it has missed; what it brings counts in the next one.
TEST(Loop, GoesOnDuringRoundsThatDoNotWaitForALateWorker) {
    SKIP_WITHOUT_ROOM_FOR(7);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.tune = [](pace_job_options& job) { job.quorum = PACE_QUORUM_SOLO; }});
        const auto barrier = [&] { pair.both([](Worker& worker) { return worker.barrier(); }); };
        const auto reduce = [&](size_t rank) {
            pair.workers[rank].finish(pair.workers[rank].reduce());
        };
        barrier();
        reduce(0);
        reduce(0);
        barrier();  // worker 1's node has both
        reduce(1);
        EXPECT_EQ(pair.workers[1].info().rounds, 2U);
        EXPECT_EQ(pair.data[1][model_floats() - 1], 2);
        pair.set(5);
        reduce(0);
        EXPECT_EQ(pair.data[0][model_floats() - 1], 7);
        barrier();
        reduce(1);
        reduce(1);
        barrier();
    }
    expect_calm(cluster, 2);
}

// Each node owes as much as a model; the one whose worker leaves gives it to the other.
TEST(Loop, GoesOnWhileMuchIsOwed) {
    SKIP_WITHOUT_ROOM_FOR(6);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.tune = [](pace_job_options& job) {
                      job.compression = PACE_COMPRESSION_SPARDL;
                      job.density = 0.001;
                      job.dense_fallback = PACE_DENSE_FALLBACK_NEVER;
                  }});
        pair.both([](Worker& worker) { return worker.load_residual(); });
        pair.set(0);
        pair.both([](Worker& worker) { return worker.save_residual(); });
        for (size_t rank = 0; rank < 2; ++rank)
            EXPECT_EQ(pair.data[rank][model_floats() - 1], static_cast<float>(rank + 1));
        pair.workers.pop_back();
        const Deadline deadline = soon();
        do {
            pair.workers[0].finish(pair.workers[0].save_residual());
        } while (pair.data[0][model_floats() - 1] != 3 &&
                 std::chrono::steady_clock::now() < deadline);
        EXPECT_EQ(pair.data[0][0], 3);
        EXPECT_EQ(pair.data[0][model_floats() - 1], 3);
    }
    expect_calm(cluster, 2);
}

// Models of half the size: each worker has two, each node its shard, updates that it holds, and parts on their way.
TEST(Loop, GoesOnWhileALargeModelIsPushedAndPulled) {
    SKIP_WITHOUT_ROOM_FOR(7);
    const uint64_t elements = model_floats() / 2;
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Team team(cluster,
                  {.policy = PACE_POLICY_SSP,
                   .elements = elements,
                   .shards = 2,
                   .tune =
                       [](pace_job_options& job) {
                           job.staleness_max = 10;
                           job.worker_timeout_ms = 600000;
                       }},
                  {0, 1});
        team.broadcast(1);
        for (uint64_t clock = 0; clock < 2; ++clock)
            team.everyone([clock](ServerWorker& worker, uint32_t rank) {
                worker.set_update(static_cast<float>(rank + 1));
                worker.finish(worker.push(clock));
                worker.finish(worker.pull(clock + 1));
            });
        for (const uint64_t element : {uint64_t{0}, elements / 2, elements - 1})
            EXPECT_GE(team[1].model(element), 1 + 2 * 2) << "its own updates are in it";
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

// ------------------------------------------------------------------------------- one client and the others

// Seconds until the daemon has greeted one who connects.
double greeting_takes(const Cluster& cluster) {
    const base::TimePoint began = base::now();
    auto link = client::Link::connect(cluster.socket(0), soon());
    EXPECT_TRUE(link);
    flatbuffers::FlatBufferBuilder hello;
    client::finish_packet(hello, fb::CreateHelloDirect(hello, protocol::kVersion, "guest"));
    EXPECT_TRUE(link->send(hello, -1, soon()));
    EXPECT_TRUE(link->receive(soon()));
    return base::to_seconds(base::now() - began);
}

TEST(Loop, AClientThatFloodsItDelaysNobodyElse) {
    // Enough for some of its buffers.
    if (!kIsMeasured) GTEST_SKIP() << "measures time, which a sanitizer's build takes more of";
    Cluster cluster(
        {.nodes = 1, .controller = false, .daemon_flags = {"--client-bytes-max", "64MiB"}});
    const Flood flood(cluster);
    std::vector<double> times;
    for (const Deadline end = soon();
         (times.size() < 20 || flood.answers() < 20) && std::chrono::steady_clock::now() < end;)
        times.push_back(greeting_takes(cluster));
    EXPECT_GE(flood.answers(), 20U) << "nothing was in the way";
    std::sort(times.begin(), times.end());
    // The machine may be busy: not every one must be in time.
    EXPECT_LT(times[times.size() * 9 / 10], 0.1) << "worst " << times.back();
    expect_calm(cluster, 1);
}

// Another client's small buffer does not wait for all of a large one.
TEST(Loop, ALargeBufferDelaysNoSmallOne) {
    SKIP_WITHOUT_ROOM_FOR(1);
    Cluster cluster({.nodes = 1, .controller = false, .daemon_flags = room_for_models()});
    Worker large({.endpoint = cluster.endpoint(0), .job = "large"});
    Worker small({.endpoint = cluster.endpoint(0), .job = "small"});
    ASSERT_EQ(small.opened(), PACE_OK) << small.complaint();
    std::atomic<bool> made = false;
    std::thread maker([&] {
        EXPECT_NE(large.add_buffer(PACE_F32, model_floats()), nullptr) << large.complaint();
        made = true;
    });
    int meanwhile = 0;
    while (!made) {
        ASSERT_NE(small.add_buffer(PACE_F32, kMebi), nullptr) << small.complaint();
        pace_error error{};
        EXPECT_EQ(pace_buffer_free(small.session(), small.buffers().back(), &error), PACE_OK);
        if (!made) ++meanwhile;
    }
    maker.join();
    EXPECT_GE(meanwhile, 4) << "small buffers waited for the large one";
    expect_calm(cluster, 1);
}

}  // namespace
}  // namespace pace::cluster
