#include "service/controller/shell/status/status_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocol/control_codec.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using Json = nlohmann::json;

NodeView node(NodeId id, const std::string& name) {
    NodeView view;
    view.node = id;
    view.name = name;
    return view;
}

WorkerView worker(Rank rank, NodeId on) {
    WorkerView view;
    view.rank = rank;
    view.node = on;
    view.step_last = base::Duration(123456789);
    return view;
}

JobView averaging_job() {
    JobView job;
    job.job = 1;
    job.options.name = "fashion";
    job.options.world = 2;
    job.options.policy = Policy::partial_reduce;
    job.options.group_size = 2;
    job.workers = {worker(0, 1), worker(1, 2)};
    job.workers[1].status = WorkerStatus::late;
    job.workers[1].waiting = std::chrono::milliseconds(12);
    job.slow = SlowWorker{.rank = 1, .factor = 5};
    job.spectral_gap = 0.25;
    job.staleness[0] = 10;
    job.staleness[3] = 2;
    GroupRecord group;
    group.order.group = 77;
    group.order.members = {{.rank = 0, .node = 1, .iteration = 4, .weight = 0.5},
                           {.rank = 1, .node = 2, .iteration = 3, .weight = 0.5}};
    group.times = {{.signalled = TimePoint(std::chrono::milliseconds(1000)),
                    .ended = TimePoint(std::chrono::milliseconds(1020))},
                   {.signalled = TimePoint(std::chrono::milliseconds(1007)), .ended = {}}};
    group.ordered = TimePoint(std::chrono::milliseconds(1007));
    group.done = true;
    job.recent_groups = {group};
    job.groups_ordered = 12;
    job.groups_completed = 10;
    job.groups_failed = 1;
    job.conflicts = 4;
    job.waited = {.total_s = 1.5, .median = std::chrono::milliseconds(2)};
    job.workers[1].exchanged = {.total_s = 0.5, .median = std::chrono::milliseconds(3)};
    job.progress = ProgressSpread{.last = 1, .first = 0, .least = 80, .most = 92};
    return job;
}

TEST(StatusJson, NamesTheSlowestTheLastGroupsAndTheStaleness) {
    StatusView view;
    view.nodes = {node(1, "a"), node(2, "b")};
    view.jobs = {averaging_job()};
    view.counters.groups = 9;
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    EXPECT_EQ(json["nodes"][1]["name"], "b");
    EXPECT_EQ(json["nodes"][0]["status"], "alive");
    EXPECT_EQ(json["counters"]["groups"], 9);
    EXPECT_EQ(json["journal"]["state"], "none");
    const Json& job = json["jobs"][0];
    EXPECT_EQ(job["name"], "fashion");
    EXPECT_EQ(job["options"]["policy"], "partial-reduce");
    EXPECT_EQ(job["slowest"]["rank"], 1);
    EXPECT_EQ(job["spectral_gap"], 0.25);
    EXPECT_EQ(job["workers"][1]["status"], "late");
    EXPECT_EQ(job["workers"][1]["waiting_ms"], 12.0);
    EXPECT_EQ(job["recent_groups"][0]["members"][1]["iteration"], 3);
    EXPECT_EQ(job["recent_groups"][0]["state"], "done");
    EXPECT_EQ(job["staleness"][1], Json({{"from", 4}, {"to", 7}, {"members", 2}}));
}

TEST(StatusJson, TellsWhatGroupsCostAndWhoIsBehind) {
    StatusView view;
    view.jobs = {averaging_job()};
    const TimePoint now{std::chrono::milliseconds(1100)};
    const Json json = Json::parse(status_json(view, ShellView{}, now));
    const Json& job = json["jobs"][0];
    EXPECT_EQ(job["groups_ordered"], 12);
    EXPECT_EQ(job["groups_completed"], 10);
    EXPECT_EQ(job["groups_failed"], 1);
    EXPECT_EQ(job["conflicts"], 4);
    EXPECT_EQ(job["waited"], Json({{"total_s", 1.5}, {"median_ms", 2.0}}));
    EXPECT_EQ(job["workers"][1]["exchanged"], Json({{"total_s", 0.5}, {"median_ms", 3.0}}));
    EXPECT_EQ(job["progress"]["spread"], 12);
    EXPECT_EQ(job["progress"]["last"], Json({{"rank", 1}, {"at", 80}}));
    EXPECT_EQ(json["clock_us"], 1'100'000);
    const Json& group = job["recent_groups"][0];
    EXPECT_EQ(group["ordered_us"], 1'007'000);
    EXPECT_EQ(group["members"][0]["signalled_us"], 1'000'000);
    EXPECT_EQ(group["members"][0]["ended_us"], 1'020'000);
    EXPECT_FALSE(group["members"][1].contains("ended_us"));
    EXPECT_EQ(job["recent_groups_left_out"], 0);
}

TEST(StatusJson, OfStaticGroupsItTellsWhatHasEnded) {
    StatusView view;
    view.jobs = {averaging_job()};
    view.jobs[0].options.policy = Policy::prague_static;
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    const Json& job = json["jobs"][0];
    EXPECT_EQ(job["recent_groups"].size(), 1U);
    EXPECT_EQ(job["groups_completed"], 10);
    EXPECT_EQ(job["spectral_gap"], 0.25);
    EXPECT_TRUE(job["workers"][0].contains("waited"));
    for (const char* key : {"group_wait_ms", "groups_in_flight", "groups_failed", "staleness"})
        EXPECT_FALSE(job.contains(key)) << key;
    EXPECT_FALSE(job["options"].contains("group.size"));
}

TEST(StatusJson, AJobWithoutGroupsTellsNothingOfThem) {
    StatusView view;
    view.jobs = {averaging_job()};
    view.jobs[0].options.policy = Policy::all_reduce;
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    const Json& job = json["jobs"][0];
    EXPECT_FALSE(job.contains("recent_groups"));
    EXPECT_TRUE(job["workers"][0].contains("waited"));
    EXPECT_EQ(job["progress"]["first"]["at"], 92);
}

// The latest of a thousand groups of 30 members are listed, in order.
TEST(StatusJson, OfManyRecentGroupsTheLatestAreListed) {
    StatusView view;
    view.jobs = {averaging_job()};
    GroupRecord group = view.jobs[0].recent_groups[0];
    group.order.members.resize(30);
    group.times.resize(30);
    view.jobs[0].recent_groups.clear();
    for (group.order.group = 1; group.order.group <= 1000; ++group.order.group)
        view.jobs[0].recent_groups.push_back(group);
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    const Json& job = json["jobs"][0];
    const size_t listed = job["recent_groups"].size();
    EXPECT_EQ(listed, 256U);
    EXPECT_EQ(job["recent_groups_left_out"], 1000 - listed);
    EXPECT_EQ(job["recent_groups"][0]["group"], 1000 - listed + 1);
    EXPECT_EQ(job["recent_groups"].back()["group"], 1000);
    EXPECT_EQ(job["recent_groups"].back()["members"].size(), 30U);
}

TEST(StatusJson, WhyAGroupFailedTakesRoomFromOlderOnes) {
    StatusView view;
    view.jobs = {averaging_job()};
    GroupRecord group = view.jobs[0].recent_groups[0];
    group.failed = true;
    group.reason = std::string(protocol::kReasonBytesMax, '"');
    view.jobs[0].recent_groups.assign(2000, group);
    const std::string text = status_json(view, ShellView{}, base::now());
    const Json json = Json::parse(text);
    const Json& groups = json["jobs"][0]["recent_groups"];
    EXPECT_EQ(groups.back()["state"], "failed");
    EXPECT_EQ(groups.back()["reason"], group.reason);
    EXPECT_LT(groups.size(), 2000U);
    EXPECT_LT(text.size(), protocol::kToDaemonBytesMax / 2);
}

// The daemon's reason for a group's failure reaches the document.
TEST(StatusJson, TellsWhyAGroupFailed) {
    CoreFixture controller;
    const auto nodes = controller.start(averaging(2));
    controller.send(from(nodes[0], Ready{1, 0, 0, 7}));
    controller.send(from(nodes[1], Ready{1, 1, 0, 7}));
    const GroupId group = controller.take<GroupOrder>().at(0).group;
    const auto shown = [&] {
        return Json::parse(status_json(controller.core().status(controller.now()), ShellView{},
                                       controller.now()))["jobs"][0]["recent_groups"][0];
    };
    EXPECT_EQ(shown()["state"], "moving");
    EXPECT_FALSE(shown().contains("reason"));
    controller.send(from(
        nodes[1],
        GroupDone{.job = 1, .group = group, .failed = true, .reason = "a buffer is not there"}));
    EXPECT_EQ(shown()["group"], group);
    EXPECT_EQ(shown()["state"], "failed");
    EXPECT_EQ(shown()["reason"], "the exchange failed at node 'node1': a buffer is not there");
}

// The options that a job with these shows.
Json shown(const JobOptions& options) {
    StatusView view;
    view.jobs.resize(1);
    view.jobs[0].options = options;
    return Json::parse(status_json(view, ShellView{}, base::now()))["jobs"][0]["options"];
}

TEST(StatusJson, ShowsTheOptionsThatCountInAJobOfRounds) {
    JobOptions options;
    options.policy = Policy::all_reduce;
    EXPECT_EQ(shown(options), Json({{"world", 0},
                                    {"policy", "all-reduce"},
                                    {"quorum", "all"},
                                    {"reduce.resync_every", 0},
                                    {"compression", "none"},
                                    {"reduce.reject_nonfinite", false}}));
    options.quorum = Quorum::count;
    options.quorum_count = 3;
    options.late = Late::drop;
    options.staleness_max = 32;
    const Json quorum = shown(options);
    EXPECT_EQ(quorum["quorum"], "count");
    EXPECT_EQ(quorum["quorum.count"], 3);
    EXPECT_EQ(quorum["quorum.late"], "drop");
    EXPECT_EQ(quorum["quorum.staleness_max"], 32);
    EXPECT_EQ(quorum["quorum.divide_by"], "world");
    EXPECT_FALSE(quorum.contains("topk.density"));
}

TEST(StatusJson, ShowsTheOptionsThatCountInAJobWithTopK) {
    JobOptions options;
    options.policy = Policy::all_reduce;
    options.late = Late::drop;
    options.compression = Compression::spardl;
    options.density = 0.01;
    options.teams = 2;
    const Json top_k = shown(options);
    EXPECT_EQ(top_k["compression"], "spardl");
    EXPECT_EQ(top_k["topk.density"], 0.01);
    EXPECT_EQ(top_k["topk.residuals"], "global");
    EXPECT_EQ(top_k["topk.indices"], "compressed");
    EXPECT_EQ(top_k["topk.values"], "f32");
    EXPECT_EQ(top_k["topk.hierarchy"], "node");
    EXPECT_EQ(top_k["topk.dense_fallback"], "automatic");
    EXPECT_EQ(top_k["topk.teams"], 2);
    EXPECT_EQ(top_k["topk.team_gather"], "automatic");
    EXPECT_FALSE(top_k.contains("quorum.late"));
    options.compression = Compression::gtopk;
    EXPECT_FALSE(shown(options).contains("topk.teams"));
}

TEST(StatusJson, ShowsTheOptionsThatCountInAJobOfGroups) {
    JobOptions options;
    options.policy = Policy::partial_reduce;
    EXPECT_FALSE(shown(options).contains("quorum"));
    options.group_size = 3;
    EXPECT_TRUE(shown(options).contains("group.size"));
    EXPECT_FALSE(shown(options).contains("group.edges"));
    options.policy = Policy::ad_psgd;
    options.edges = {0, 1, 1, 2, 2, 3};
    EXPECT_EQ(shown(options)["group.edges"], 3);
    for (const char* key : {"server.shards", "server.checkpoint_copies", "server.restore"})
        EXPECT_FALSE(shown(options).contains(key)) << key;
}

TEST(StatusJson, ShowsTheOptionsThatCountInAServerJob) {
    JobOptions options;
    options.policy = Policy::ssp;
    options.shards = 3;
    options.checkpoint_copies = 2;
    options.restore = true;
    const Json server = shown(options);
    EXPECT_EQ(server["server.shards"], 3);
    EXPECT_EQ(server["server.checkpoint_copies"], 2);
    EXPECT_EQ(server["server.restore"], true);
    options.restore = false;
    EXPECT_EQ(shown(options)["server.restore"], false);
}

TEST(StatusJson, TellsWhatPolicyAutoHasChosenAndWhy) {
    StatusView view;
    view.jobs.resize(1);
    JobView& job = view.jobs[0];
    job.options.policy = Policy::automatic;
    job.automatic = {Policy::partial_reduce, 5, "instead of full: one is slow", 2};
    const auto shown = [&view] {
        return Json::parse(status_json(view, ShellView{}, base::now()))["jobs"][0];
    };
    EXPECT_EQ(shown()["auto"], Json({{"policy", "partial-reduce"},
                                     {"group_size", 5},
                                     {"reason", "instead of full: one is slow"},
                                     {"switches", 2}}));
    EXPECT_FALSE(shown()["options"].contains("group.size"));
    EXPECT_EQ(shown()["options"]["average.weights"], "constant");
    job.automatic->group_size = 0;
    EXPECT_TRUE(shown()["auto"]["group_size"].is_null());
    job.automatic.reset();
    EXPECT_FALSE(shown().contains("auto"));
}

TEST(StatusJson, TellsWhereNodesAreAndWhatTheirLinksTake) {
    StatusView view;
    view.nodes = {node(1, "a"), node(2, "b")};
    view.nodes[0].zone = "rack-3";
    view.jobs = {averaging_job()};
    view.jobs[0].zones = {{.zone = 1, .label = "rack-3", .nodes = {1}},
                          {.zone = uint32_t{1} << 31U, .label = "", .nodes = {2, 3}}};
    view.links = {{.from = 1, .to = 2, .link = {.latency_ns = 25'000, .ns_per_byte = 0.5}}};
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    EXPECT_EQ(json["nodes"][0]["zone"], "rack-3");
    EXPECT_EQ(json["nodes"][1]["zone"], "");
    const Json& zones = json["jobs"][0]["zones"];
    EXPECT_EQ(zones[0], Json({{"zone", 1}, {"label", "rack-3"}, {"nodes", {1}}}));
    EXPECT_EQ(zones[1], Json({{"zone", uint32_t{1} << 31U}, {"nodes", {2, 3}}}));
    EXPECT_EQ(json["jobs"][0]["zones_left_out"], 0);
    const Json& link = json["links"][0];
    EXPECT_EQ(link["from"], 1);
    EXPECT_EQ(link["to"], 2);
    EXPECT_EQ(link["latency_us"], 25.0);
    EXPECT_EQ(link["ns_per_byte"], 0.5);
    EXPECT_DOUBLE_EQ(link["mebibyte_ms"], 0.025 + 0.524288);
    EXPECT_EQ(json["links_left_out"], 0);
}

TEST(StatusJson, TellsTheNcclOfEachNode) {
    StatusView view;
    view.nodes = {node(1, "a"), node(2, "b")};
    view.nodes[0].nccl = 22105;
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    EXPECT_EQ(json["nodes"][0]["nccl"], "2.21.5");
    EXPECT_EQ(json["nodes"][1]["nccl"], "");
}

TEST(StatusJson, AFailedJournalSaysWhy) {
    ShellView shell;
    shell.journal_path = "/var/lib/pace/journal";
    shell.journal.failure = base::Error{base::ErrorKind::disk, "no space"};
    const Json json = Json::parse(status_json(StatusView{}, shell, base::now()));
    EXPECT_EQ(json["journal"]["state"], "failed");
    EXPECT_EQ(json["journal"]["failure"], "no space");
}

TEST(StatusJson, WhatIsNotTextDoesNotThrow) {
    StatusView view;
    view.nodes = {node(1, "\xff\xfe\x80")};
    const Json json = Json::parse(status_json(view, ShellView{}, base::now()));
    EXPECT_EQ(json["nodes"].size(), 1U);
}

JobView largest_job() {
    JobView job = averaging_job();
    WorkerView slow = worker(~Rank{0}, 65'535);
    slow.computed = slow.waited = slow.exchanged = {1e9 / 3, std::chrono::nanoseconds(1)};
    slow.doing = Doing::unreachable;
    slow.doing_for = std::chrono::nanoseconds(1);
    slow.loss = slow.samples_per_s = 1e9 / 3;
    slow.steps = StepsView{~uint64_t{0}, ~uint64_t{0}, 1e9 / 3};
    slow.residual = KeptResidual{~uint64_t{0}, ~uint64_t{0}};
    slow.slow = Slowness{SlowWhy::computing, 1.0 / 3, {}, std::string(200, 's')};
    job.workers.assign(65'536, slow);
    job.zones.assign(10'000, {~uint32_t{0}, std::string(63, 'z'), {65'535}});
    job.recent_groups.assign(64, job.recent_groups[0]);
    for (auto& group : job.recent_groups) {
        group.order.members.assign(65'536, {65'535, 65'535, uint64_t{1} << 60U, 1.0 / 3});
        group.times.assign(65'536, {base::now(), base::now()});
    }
    return job;
}

TEST(StatusJson, FitsAMessageHoweverLargeTheCluster) {
    StatusView view;
    for (uint32_t n = 1; n <= 10'000; ++n) view.nodes.push_back(node(n, std::string(63, 'n')));
    for (NodeView& each : view.nodes) each.host = std::string(255, 'h');
    for (NodeView& each : view.nodes) each.zone = std::string(63, 'z');
    for (NodeView& each : view.nodes) each.nccl = 999'999;
    const GpuReport gpu{std::string(64, '"'), ~uint64_t{0}, true, ~uint64_t{0}};
    for (NodeView& each : view.nodes)
        each.machine = {~uint64_t{0}, ~uint64_t{0}, std::vector<GpuReport>(16, gpu)};
    view.links.assign(20'000, {65'535, 65'534, {3'599'999'999'999, 1e9 / 3}});
    for (int j = 0; j < 4; ++j) view.jobs.push_back(largest_job());
    for (NodeView& each : view.nodes) each.release = std::string(31, '9');
    EventRing events;
    for (size_t i = 0; i < EventRing::kEventsMax; ++i)
        events.add({true,
                    "kind" + std::to_string(i % 8),
                    std::string(2000, '"'),
                    {"job", 1, std::string(63, 'n')}},
                   1'700'000'000'000);
    ShellView shell;
    shell.events = &events;
    const std::string text = status_json(view, shell, base::now());
    EXPECT_LT(text.size(), protocol::kToDaemonBytesMax);
    const Json json = Json::parse(text);
    EXPECT_GT(json["nodes_left_out"], 0);
    EXPECT_GT(json["links_left_out"], 0);
    EXPECT_EQ(json["jobs"][3]["zones_left_out"], 10'000);
    EXPECT_EQ(json["jobs"][3]["workers_left_out"], 65'536);
    EXPECT_EQ(json["jobs"][3]["recent_groups_left_out"], 63);
}

}  // namespace
}  // namespace pace::controller
