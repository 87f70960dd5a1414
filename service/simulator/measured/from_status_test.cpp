#include "service/simulator/measured/from_status.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "service/simulator/files/scenario_file.h"
#include "service/simulator/measured/measured_job.h"
#include "service/simulator/measured/status_fields.h"
#include "service/simulator/measured/status_fixture.h"

namespace pace::simulator {
namespace {

FromStatus made_of(const Json& document, std::optional<uint64_t> bytes = {}) {
    auto made = scenario_from_status(document.dump(), "s.json", "resnet", bytes);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : FromStatus{};
}

std::string refusal_of(const std::string& document, const std::string& job = "resnet") {
    const auto made = scenario_from_status(document, "s.json", job, {});
    return made ? "it was taken" : made.error().message;
}

bool is_said(const FromStatus& made, const std::string& note) {
    const auto& notes = made.scenario.notes;
    const bool is_there = std::find(notes.begin(), notes.end(), note) != notes.end();
    return is_there && made.file.find("# " + note + "\n") != std::string::npos;
}

// Node 3 comes first, so the job's rank 1 is the file's rank 0.
TEST(FromStatus, HasWhatWasMeasured) {
    const FromStatus made = made_of(status_document());
    const Scenario& scenario = made.scenario;
    ASSERT_EQ(scenario.world(), 3U);
    ASSERT_EQ(scenario.nodes.size(), 2U);
    EXPECT_EQ(scenario.workers[0].node, 0U);
    EXPECT_EQ(scenario.workers[0].slow, 2);
    EXPECT_EQ(scenario.workers[1].node, 1U);
    EXPECT_EQ(scenario.workers[2].slow, 1);
    EXPECT_EQ(scenario.bytes, 1e6);  // two nodes have sent one model each
    EXPECT_EQ(scenario.channels[scenario.nodes[1].link].bytes_per_s, 1e9);
    EXPECT_DOUBLE_EQ(scenario.latency_s, 80e-6);
    EXPECT_EQ(scenario.now,
              (Candidate{.policy = controller::Policy::partial_reduce, .group_size = 2}));
    EXPECT_NE(made.file.find("# Ranks 0 to 2 of this file are the job's ranks 1, 0, 2.\n"),
              std::string::npos)
        << made.file;
    EXPECT_TRUE(is_said(made, "The model has 1 MB, by what the nodes of recent groups have sent."));
}

// 1 / 0.15 s for two workers, and 1 / 0.25 s for one.
TEST(FromStatus, SaysWhatTheJobMakesNow) {
    EXPECT_TRUE(
        is_said(made_of(status_document()),
                "By their median step, wait and exchange the workers make 17.33 updates per "
                "second now."));
}

TEST(FromStatus, TheFileIsReadAsTheSameScenario) {
    const FromStatus made = made_of(status_document());
    const auto again = parse_scenario(made.file, "f.toml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->bytes, made.scenario.bytes);
    EXPECT_EQ(again->distributions, made.scenario.distributions);
    EXPECT_EQ(again->now, made.scenario.now);
    EXPECT_EQ(again->world(), made.scenario.world());
    for (uint32_t rank = 0; rank < again->world(); ++rank) {
        EXPECT_EQ(again->workers[rank].node, made.scenario.workers[rank].node);
        EXPECT_EQ(again->workers[rank].slow, made.scenario.workers[rank].slow);
    }
    EXPECT_EQ(candidates_of(*again), candidates_of(made.scenario));
}

TEST(FromStatus, NodesOfOneHostShareItsLink) {
    Json document = status_document();
    document["nodes"][1]["host"] = "a";
    const Scenario scenario = made_of(document).scenario;
    EXPECT_EQ(scenario.nodes[0].link, scenario.nodes[1].link);
}

TEST(FromStatus, ZonesAreJoinedByWhatWasMeasuredBetweenThem) {
    Json document = status_document();
    document["nodes"][0]["zone"] = "east \"1\"";
    document["nodes"][1]["zone"] = "west";
    const FromStatus made = made_of(document);
    ASSERT_TRUE(made.scenario.between_zones) << made.file;
    EXPECT_EQ(made.scenario.between_zones->bytes_per_s, 1e9);
    EXPECT_DOUBLE_EQ(made.scenario.between_zones->latency_s, 80e-6);
    EXPECT_EQ(made.scenario.nodes[0].zone, "east \"1\"");
    EXPECT_TRUE(is_said(made,
                        "Assumed: 2 of 2 nodes have links of 10 Gbit/s; theirs were not measured "
                        "within their zones."));
}

TEST(FromStatus, WhatWasNotMeasuredIsAssumedAndSaid) {
    Json document = status_document();
    document["links"] = Json::array();
    document["jobs"][0]["workers"][2]["step_median_ms"] = 0;
    const FromStatus made = made_of(document);
    EXPECT_TRUE(is_said(made, "Assumed: a message takes 50 us; none was measured."));
    EXPECT_TRUE(is_said(made,
                        "Assumed: 1 of 3 workers, which have measured no step yet, take the median "
                        "200 ms."));
    EXPECT_TRUE(
        is_said(made, "Assumed: steps vary by 10 % (lognormal); too few were measured to tell."));
    EXPECT_TRUE(is_said(made, "Assumed: 500 us from a signal to its order; nobody measures them."));
}

// 30 ms minus two messages of 80 us. A group with one worker on each of two nodes takes 2 / 10 s
// for each GB in memory, and one second for each GB over links.
TEST(FromStatus, AModelThatNobodyTellsOfIsAsLargeAsItsExchangesAreLong) {
    Json document = status_document();
    document["jobs"][0]["recent_groups"] = Json::array();
    const Scenario scenario = made_of(document).scenario;
    EXPECT_NEAR(scenario.bytes, 0.02984 / (2 / 10e9 + 1 / 1e9), 1);
    EXPECT_TRUE(is_said(made_of(document), "Assumed: memory of 10 GB/s; nobody measures it."));
    EXPECT_EQ(made_of(document, 5'000).scenario.bytes, 5'000);
    for (Json& worker : document["jobs"][0]["workers"]) worker["exchanged"]["median_ms"] = 0;
    EXPECT_NE(refusal_of(document.dump()).find("give --bytes, say --bytes \"100 MB\""),
              std::string::npos);
}

// A model of 1 MB takes 1 ms over links, and 10 MB take 10 ms. The rest of the 30 ms, minus two
// messages of 80 us, is the time of memory, which moves two models.
TEST(FromStatus, MemoryIsAsSlowAsExchangesAreLong) {
    const Scenario scenario = made_of(status_document(), 10'000'000).scenario;
    const double memory = scenario.channels[scenario.nodes[0].memory].bytes_per_s;
    EXPECT_NEAR(memory, 20e6 / (0.02984 - 0.010), 1e6);
    EXPECT_TRUE(is_said(made_of(status_document(), 10'000'000),
                        "Memory of 1.01 GB/s: with it exchanges take as long as measured."));
    // The links alone take this long.
    EXPECT_TRUE(is_said(made_of(status_document(), 30'000'000),
                        "Assumed: memory of 10 GB/s; nobody measures it."));
}

TEST(FromStatus, OptionsOfTheJobAreTriedBesideTheUsualOnes) {
    Json document = status_document();
    document["jobs"][0]["options"] = {
        {"policy", "all-reduce"}, {"quorum", "count"}, {"quorum.count", 2}};
    const Scenario quorum = made_of(document).scenario;
    EXPECT_EQ(quorum.now->quorum_count, 2U);
    EXPECT_EQ(candidates_of(quorum).back(), *quorum.now);
    document["jobs"][0]["options"] = {
        {"policy", "ssp"}, {"server.staleness", 5}, {"server.elements", 1000}};
    const Scenario served = made_of(document).scenario;
    EXPECT_EQ(served.now->staleness, 5U);
    EXPECT_EQ(served.bytes, 4000);
    document["jobs"][0]["options"] = {{"policy", "all-reduce"}, {"compression", "gtopk"}};
    EXPECT_FALSE(made_of(document).scenario.now);
}

// Twenty-one steps of one worker, each from an end to the next signal. They take 90 and 110 ms in
// turn.
TEST(FromStatus, StepsVaryAsRecentGroupsHaveIt) {
    Json document = status_document();
    Json groups = Json::array();
    uint64_t now_us = 1'000'000;
    for (int i = 0; i < 22; ++i) {
        now_us += i % 2 == 0 ? 90'000 : 110'000;
        const Json member = {
            {"rank", 0}, {"node", 7}, {"signalled_us", now_us}, {"ended_us", now_us + 5'000}};
        groups.push_back({{"state", "done"}, {"size", 1}, {"bytes", 0}, {"members", {member}}});
        now_us += 5'000;
    }
    document["jobs"][0]["recent_groups"] = groups;
    EXPECT_TRUE(is_said(made_of(document, 1000),
                        "Steps vary by 10 % (lognormal), measured over 21 steps of recent groups."))
        << made_of(document, 1000).file;
}

TEST(FromStatus, RefusesAJobThatIsNotThere) {
    Json document = status_document();
    EXPECT_EQ(refusal_of(document.dump(), "bert"),
              "there is no job 'bert'. The only one is resnet");
    document["jobs"].push_back(document["jobs"][0]);
    document["jobs"][1]["name"] = "fashion";
    EXPECT_EQ(refusal_of(document.dump(), "resent"),
              "there is no job 'resent'; did you mean 'resnet'? The jobs are resnet, fashion");
    document["jobs"] = Json::array();
    EXPECT_EQ(refusal_of(document.dump()), "there is no job 'resnet': s.json has no jobs");
}

TEST(FromStatus, RefusesAJobThatCannotBePredicted) {
    Json document = status_document();
    document["jobs"][0]["workers"][0]["status"] = "left";
    document["jobs"][0]["workers"][1]["status"] = "lost";
    EXPECT_EQ(
        refusal_of(document.dump()),
        "job 'resnet' has 1 workers now; pace-sim needs at least 2, that there is something to "
        "average");
    document = status_document();
    for (Json& worker : document["jobs"][0]["workers"]) worker["step_median_ms"] = 0;
    EXPECT_EQ(
        refusal_of(document.dump()),
        "no worker of job 'resnet' has measured a step yet; try again when it has made a few");
}

TEST(FromStatus, RefusesWhatIsNoStatusDocument) {
    const std::string wrong =
        "s.json is not what `pacectl status --json` prints: an object with jobs and nodes";
    for (const std::string text :
         {"", "[job]\nbytes = 1", "[]", "{}", "{\"jobs\": []", "nan", "\xff"})
        EXPECT_EQ(refusal_of(text), wrong) << text;
    std::string deep = "{\"nodes\": [], \"jobs\": ";
    deep.append(1'000'000, '[');
    EXPECT_EQ(refusal_of(deep), wrong);
    EXPECT_EQ(refusal_of(std::string(kStatusBytesMax + 1, ' ')),
              "s.json has more than 16 MiB; a status document is smaller");
}

TEST(FromStatus, RefusesNumbersThatCannotBe) {
    const std::string path = "s.json: status.jobs[0].workers[1].step_median_ms is ";
    const std::string bounds = ": it can only be a number from 0 to 3600000";
    for (const auto& [value, shown] : std::vector<std::pair<Json, std::string>>{
             {-1, "-1"}, {1e300, "1e+300"}, {"NaN", "\"NaN\""}, {nullptr, "null"}}) {
        Json document = status_document();
        document["jobs"][0]["workers"][1]["step_median_ms"] = value;
        std::string message = path;
        message += shown;
        message += bounds;
        EXPECT_EQ(refusal_of(document.dump()), message);
    }
    Json document = status_document();
    document["links"][0]["ns_per_byte"] = -0.5;
    EXPECT_EQ(
        refusal_of(document.dump()),
        "s.json: status.links[0].ns_per_byte is -0.5: it can only be a number from 0 to 1000000");
    document = status_document();
    document["jobs"][0]["workers"][1]["rank"] = 0;
    EXPECT_EQ(refusal_of(document.dump()),
              "s.json: status.jobs[0].workers[1].rank is 0: an earlier worker has it already");
    document = status_document();
    document["jobs"][0]["options"]["policy"] = "ring";
    EXPECT_NE(
        refusal_of(document.dump()).find("options.policy is \"ring\": this pace-sim knows all-"),
        std::string::npos);
}

// Each field in turn is missing or changed. The document is refused or not, and nothing else
// happens.
TEST(FromStatus, SurvivesWhateverAFieldHas) {
    const Json flat = status_document().flatten();
    for (const auto& [path, value] : flat.items()) {
        for (const Json& other : {Json(), Json(-1), Json(1e300), Json(UINT64_MAX), Json("x"),
                                  Json::array({1}), Json::object({{"a", 1}})}) {
            Json document = status_document();
            document[Json::json_pointer(path)] = other;
            const auto made = scenario_from_status(document.dump(), "s.json", "resnet", {});
            EXPECT_TRUE(made || !made.error().message.empty()) << path;
        }
    }
}

}  // namespace
}  // namespace pace::simulator
