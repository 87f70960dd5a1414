// Loop server tests: the event loop goes on while large models are pushed, pulled, saved and
// loaded.
#include <vector>

#include "capi/testing/calls.h"
#include "tests/cluster/harness/loop_fixture.h"
#include "tests/cluster/harness/team.h"

namespace pace::cluster {
namespace {

ServerJob served(uint64_t elements) {
    return {.policy = PACE_POLICY_SSP,
            .elements = elements,
            .shards = 2,
            .tune = [](AskedSession& job) {
                job.set(PACE_OPT_SERVER_STALENESS, 10);
                job.set(PACE_OPT_WORKER_TIMEOUT_MS, 600000);
            }};
}

// The checkpoint is written to the disk, copied to the next node, and read again by the next run.
TEST(Loop, GoesOnWhileACheckpointIsWrittenCopiedAndRead) {
    SKIP_WITHOUT_ROOM_FOR(4);
    const uint64_t elements = model_floats() / 8;
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Team team(cluster, served(elements), {0, 1});
        team.broadcast(1);
        team.everyone([](ServerWorker& worker, uint32_t) {
            worker.set_update(1);
            worker.finish(worker.push(0));
            worker.finish(worker.pull(1));
        });
        team[0].finish(team[0].checkpoint());
    }
    {
        ServerJob again = served(elements);
        again.tune = [tune = again.tune](AskedSession& job) {
            tune(job);
            job.set(PACE_OPT_SERVER_RESTORE, 1);
        };
        Team team(cluster, again, {0, 1});
        team.everyone([](ServerWorker& worker, uint32_t) { worker.finish(worker.pull(0)); });
        for (const uint64_t element : {uint64_t{0}, elements - 1})
            EXPECT_GE(team[1].model(element), 2);
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

// The entries are a third of the model's elements. Half of the data that travels are indices.
TEST(Loop, GoesOnWhileManyEntriesArePushed) {
    SKIP_WITHOUT_ROOM_FOR(4);
    const uint64_t elements = model_floats() / 8;
    const uint64_t entries = elements / 3;
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Team team(cluster, served(elements), {0, 1});
        team.broadcast(1);
        team.everyone([&](ServerWorker& worker, uint32_t) {
            Worker& session = worker.session();
            auto* const indices = static_cast<uint32_t*>(session.add_buffer(PACE_U32, entries));
            auto* const values = static_cast<float*>(session.add_buffer(PACE_F32, entries));
            ASSERT_NE(indices, nullptr);
            ASSERT_NE(values, nullptr);
            for (uint64_t i = 0; i < entries; ++i) {
                indices[i] = static_cast<uint32_t>(3 * i);
                values[i] = 1;
            }
            for (uint64_t clock = 0; clock < 2; ++clock) {
                pace_push_options options = PACE_PUSH_OPTIONS_INIT;
                options.sparse = 1;
                options.entries = entries;
                pace_request request{};
                pace_error error{};
                ASSERT_EQ(pace_push(session.session(), Slices(session.buffers().data(), 2), 2,
                                    &options, &request, &error),
                          PACE_OK)
                    << error.message;
                worker.finish(request);
                worker.finish(worker.pull(clock + 1));
            }
        });
        for (uint32_t rank = 0; rank < 2; ++rank) {
            EXPECT_GE(team[rank].model(0), 1 + 2) << "its own updates are in it";
            EXPECT_EQ(team[rank].model(1), 1);
        }
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

// The models have half the size. Each worker has two models. Each node has its shard, updates that
// it holds, and parts on their way.
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
                       [](AskedSession& job) {
                           job.set(PACE_OPT_SERVER_STALENESS, 10);
                           job.set(PACE_OPT_WORKER_TIMEOUT_MS, 600000);
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

}  // namespace
}  // namespace pace::cluster
