// Join tests: which workers may join, with which options, and what a wrong client is told.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "capi/testing/calls.h"
#include "libclient/link/link.h"
#include "protocol/version.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/words.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

WorkerOptions averaging(const Cluster& cluster) {
    return {.endpoint = cluster.endpoint(0),
            .world = 6,
            .policy = PACE_POLICY_PARTIAL_REDUCE,
            .group_size = 3};
}

TEST(Join, EveryOptionThatDiffersIsToldWithBothValues) {
    Cluster cluster({.nodes = 1, .controller = false});
    const Worker first(averaging(cluster));
    ASSERT_EQ(first.opened(), PACE_OK) << first.complaint();
    WorkerOptions other = averaging(cluster);
    other.rank = 1;
    other.world = 7;
    other.group_size = 4;
    other.group_min = 3;
    other.weights = "dynamic";
    const Worker second(other);
    EXPECT_EQ(second.opened(), PACE_E_MISMATCH);
    expect_words(second.complaint(),
                 {"job 'test'", "world 7 (the job has 6)", "group.size 4 (the job has 3)",
                  "group.min 3 (the job has 2)", "weights dynamic (the job has constant)",
                  "join with the job's"});
    other = averaging(cluster);
    other.rank = 1;
    other.policy = PACE_POLICY_ALL_REDUCE;
    other.group_size = 0;
    const Worker third(other);
    EXPECT_EQ(third.opened(), PACE_E_MISMATCH);
    expect_words(third.complaint(), {"policy all-reduce (the job has partial-reduce)"});
}

TEST(Join, OptionsOfGroupsHaveNoPlaceInAJobWithoutGroups) {
    Cluster cluster({.nodes = 1, .controller = false});
    const Worker worker({.endpoint = cluster.endpoint(0), .world = 4, .group_size = 2});
    EXPECT_EQ(worker.opened(), PACE_E_INVALID);
    expect_words(worker.complaint(), {"group.size is 2", "policy partial-reduce"});
}

TEST(Join, AnUnknownOptionIsToldWithTheNearestNameUnlessItIsAHint) {
    Cluster cluster({.nodes = 1});
    pace_option option = PACE_OPTION_REAL("topk.densty", 0.1);
    const std::string endpoint = cluster.endpoint(0);
    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    where.endpoint = endpoint.c_str();
    where.job = "test";
    where.policy = PACE_POLICY_ALL_REDUCE;
    where.world = 1;
    where.options = &option;
    where.option_count = 1;
    pace_session* session = nullptr;
    pace_error error{};
    EXPECT_EQ(pace_session_open(&where, &session, &error), PACE_E_INVALID);
    EXPECT_STREQ(error.argument, "topk.densty");
    expect_words(error.message, {"is topk.density meant?"});
    option.flags = PACE_OPTION_HINT;
    EXPECT_EQ(pace_session_open(&where, &session, &error), PACE_OK) << error.message;
    pace_session_free(session);
}

TEST(Join, AnUnknownPolicyIsToldWithThoseThatThereAre) {
    Cluster cluster({.nodes = 1});
    const Worker worker({.endpoint = cluster.endpoint(0), .policy = "al-reduce"});
    EXPECT_EQ(worker.opened(), PACE_E_INVALID);
    expect_words(worker.complaint(), {"policy is 'al-reduce'", "all-reduce, partial-reduce"});
}

TEST(Query, ADaemonTellsOfItselfAndTheCluster) {
    Cluster cluster({.nodes = 1});
    const auto query = [&](const char* what) {
        char* json = nullptr;
        pace_error error{};
        EXPECT_EQ(pace_query(cluster.endpoint(0).c_str(), what, &json, &error), PACE_OK)
            << what << ": " << error.message;
        std::string text = json == nullptr ? "" : json;
        pace_text_free(json);
        return text;
    };
    expect_words(query("options"), {"\"topk.density\"", "\"family\": \"collective\""});
    expect_words(query("policies"), {"\"ad-psgd\""});
    expect_words(query("versions"), {"\"library\"", "\"daemon\"", "\"node\": \"node0\""});
    expect_words(query("status"), {"\"jobs\"", "node0"});
}

TEST(Join, ARankIsFreeAgainWhenItsHolderHasLeft) {
    Cluster cluster({.nodes = 2});
    // The next worker asks through the other node. Its request must not overtake the message that
    // the rank is free.
    for (size_t i = 0; i < 20; ++i) {
        const Worker holder({.endpoint = cluster.endpoint(i % 2), .rank = 1, .world = 3});
        ASSERT_EQ(holder.opened(), PACE_OK) << "the " << i << "th: " << holder.complaint();
    }
    {
        const Worker holder({.endpoint = cluster.endpoint(0), .rank = 1, .world = 3});
        ASSERT_EQ(holder.opened(), PACE_OK) << holder.complaint();
        for (size_t node = 0; node < 2; ++node) {
            const Worker rival({.endpoint = cluster.endpoint(node), .rank = 1, .world = 3});
            EXPECT_EQ(rival.opened(), PACE_E_TAKEN);
            expect_words(rival.complaint(), {"rank 1", "node0", "use a free rank"});
        }
    }
    const Worker heir({.endpoint = cluster.endpoint(1), .rank = 1, .world = 3});
    EXPECT_EQ(heir.opened(), PACE_OK) << heir.complaint();
}

TEST(Join, TheVerbOfTheOtherFamilyIsRefusedBeforeAnythingChanges) {
    Cluster cluster({.nodes = 1, .controller = false});
    Worker gradients({.endpoint = cluster.endpoint(0), .job = "gradients"});
    Worker parameters({.endpoint = cluster.endpoint(0),
                       .job = "parameters",
                       .policy = PACE_POLICY_PARTIAL_REDUCE});
    ASSERT_EQ(gradients.opened(), PACE_OK) << gradients.complaint();
    ASSERT_EQ(parameters.opened(), PACE_OK) << parameters.complaint();
    const float* data = gradients.add_floats(10, 3);
    parameters.add_floats(10, 4);
    pace_request request{};
    pace_error error{};
    EXPECT_EQ(pace_average(gradients.session(), Slices(gradients.buffers().data(), 1), 1,
                           average_at(0), &request, &error),
              PACE_E_VERB);
    expect_words(error.message, {"\"gradients\"", "all-reduce", "pace_reduce"});
    EXPECT_EQ(pace_reduce(parameters.session(), Slices(parameters.buffers().data(), 1), 1, nullptr,
                          &request, &error),
              PACE_E_VERB);
    expect_words(error.message, {"\"parameters\"", "averages in groups", "pace_average"});
    EXPECT_EQ(request.id, 0U);
    gradients.finish(gradients.reduce());
    parameters.finish(parameters.average(1));
    EXPECT_EQ(data[0], 3);
}

// Checks the daemon's answer to a library of another release.
TEST(Join, ALibraryOfAnotherProtocolVersionIsToldBoth) {
    Cluster cluster({.nodes = 1, .controller = false});
    const auto deadline = base::now() + std::chrono::seconds(30);
    auto link = client::Link::connect(cluster.socket(0), deadline);
    ASSERT_TRUE(link) << link.error().message;
    flatbuffers::FlatBufferBuilder hello;
    client::finish_packet(
        hello, client::wire::CreateHelloDirect(hello, protocol::kVersion + 6, "libpace 9.9"));
    ASSERT_TRUE(link->send(hello, -1, deadline));
    const auto answer = link->receive(deadline);
    ASSERT_TRUE(answer) << answer.error().message;
    const auto* failed = answer->body<client::wire::Failed>();
    ASSERT_NE(failed, nullptr);
    const base::Error error = client::error_of(*failed);
    EXPECT_EQ(error.kind, base::ErrorKind::version);
    expect_words(error.message,
                 {std::to_string(protocol::kVersion).c_str(),
                  std::to_string(protocol::kVersion + 6).c_str(), "install the same"});
    EXPECT_FALSE(link->receive(deadline)) << "it has hung up";
}

TEST(Join, ALibraryOfTheReleaseAfterIsToldWhatBothSpeak) {
    Cluster cluster({.nodes = 1, .controller = false});
    const auto deadline = base::now() + std::chrono::seconds(30);
    auto link = client::Link::connect(cluster.socket(0), deadline);
    ASSERT_TRUE(link) << link.error().message;
    flatbuffers::FlatBufferBuilder hello;
    client::finish_packet(
        hello, client::wire::CreateHelloDirect(hello, protocol::kVersion + 1, "libpace next",
                                               protocol::kVersion));
    ASSERT_TRUE(link->send(hello, -1, deadline));
    const auto answer = link->receive(deadline);
    ASSERT_TRUE(answer) << answer.error().message;
    const auto* welcome = answer->body<client::wire::Welcome>();
    ASSERT_NE(welcome, nullptr);
    EXPECT_EQ(welcome->version(), protocol::kVersion);
}

TEST(Join, NoiseOnTheSocketEndsOnlyItsSender) {
    Cluster cluster({.nodes = 1, .controller = false});
    Worker worker({.endpoint = cluster.endpoint(0)});
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    worker.add_floats(10, 1);
    const auto deadline = base::now() + std::chrono::seconds(30);
    auto link = client::Link::connect(cluster.socket(0), deadline);
    ASSERT_TRUE(link);
    flatbuffers::FlatBufferBuilder noise;
    noise.Finish(noise.CreateString(std::string(1000, '\xA5')));
    ASSERT_TRUE(link->send(noise, -1, deadline));
    const auto answer = link->receive(deadline);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_NE(answer->body<client::wire::Failed>(), nullptr);
    EXPECT_FALSE(link->receive(deadline)) << "it has hung up";
    worker.finish(worker.reduce());
}

}  // namespace
}  // namespace pace::cluster
