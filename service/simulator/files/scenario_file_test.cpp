#include "service/simulator/files/scenario_file.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/controller/vocabulary/options.h"
#include "service/simulator/model/candidate.h"

namespace pace::simulator {
namespace {

constexpr const char* kJob = "[job]\nbytes = 1000\n";
constexpr const char* kStep = "[step]\nmean_ms = 5\n";
constexpr const char* kNodes = "[[nodes]]\nworkers = 4\n";

std::string message_of(const std::string& text) {
    const auto scenario = parse_scenario(text, "f.toml");
    return scenario ? "it was taken" : scenario.error().message;
}

TEST(ScenarioFile, TheShortestOneHasDefaults) {
    const auto scenario = parse_scenario(std::string(kJob) + kStep + kNodes, "f.toml");
    ASSERT_TRUE(scenario) << scenario.error().message;
    EXPECT_EQ(scenario->bytes, 1000);
    EXPECT_EQ(scenario->world(), 4U);
    ASSERT_EQ(scenario->channels.size(), 2U);
    EXPECT_EQ(scenario->channels[scenario->nodes[0].link].bytes_per_s, 1.25e9);
    EXPECT_EQ(scenario->channels[scenario->nodes[0].memory].bytes_per_s, 10e9);
    EXPECT_DOUBLE_EQ(scenario->latency_s, 50e-6);
    EXPECT_DOUBLE_EQ(scenario->controller_s, 500e-6);
    EXPECT_EQ(scenario->policies.size(), 7U);
    EXPECT_EQ(scenario->group_sizes, (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(scenario->steps, 2000U);
    EXPECT_EQ(scenario->seed, 1U);
}

constexpr const char* kWholeFile = R"(
        [job]
        parameters = 1_000
        dtype = "f16"
        weights = "dynamic"
        alpha = 0.25
        [step]
        distribution = "lognormal"
        mean_ms = 20
        cv = 0.5
        [[nodes]]
        count = 2
        workers = 2
        machine = "host"
        link_gbit = 8
        [[nodes]]
        workers = 1
        zone = "rack-2"
        slow = 2
        step = { distribution = "trace", times_ms = [1, 2.5] }
        [[workers]]
        ranks = [0, 4]
        slow = 5
        [[workers]]
        ranks = [1]
        step = { mean_ms = 7 }
        [try]
        policies = ["all-reduce", "ad-psgd", "partial-reduce"]
        group_sizes = [5, 2]
        [run]
        steps = 10
        seed = 3
    )";

TEST(ScenarioFile, NodesAndWorkersSayWhatIsTheirs) {
    const auto scenario = parse_scenario(kWholeFile, "f.toml");
    ASSERT_TRUE(scenario) << scenario.error().message;
    EXPECT_EQ(scenario->bytes, 2000);
    EXPECT_EQ(scenario->nodes.front().zone, "");
    EXPECT_EQ(scenario->nodes.back().zone, "rack-2");
    EXPECT_EQ(scenario->options.weights, controller::Weights::dynamic);
    EXPECT_EQ(scenario->options.alpha, 0.25);
    EXPECT_EQ(scenario->world(), 5U);
    ASSERT_EQ(scenario->nodes.size(), 3U);
    EXPECT_EQ(scenario->nodes[0].link, scenario->nodes[1].link);
    EXPECT_EQ(scenario->nodes[0].memory, scenario->nodes[1].memory);
    EXPECT_NE(scenario->nodes[0].link, scenario->nodes[2].link);
    EXPECT_EQ(scenario->channels[scenario->nodes[0].link].bytes_per_s, 1e9);
    EXPECT_EQ(scenario->workers[0].slow, 5);
    EXPECT_EQ(scenario->workers[3].slow, 1);
    EXPECT_EQ(scenario->workers[4].slow, 5);
    const auto distribution_of = [&](controller::Rank rank) {
        return scenario->distributions[scenario->workers[rank].distribution];
    };
    EXPECT_EQ(distribution_of(0), (Distribution{Shape::lognormal, 0.02, 0.5, 0, {}}));
    EXPECT_EQ(distribution_of(1), (Distribution{Shape::constant, 0.007, 0, 0, {}}));
    EXPECT_EQ(distribution_of(4), (Distribution{Shape::trace, 0, 0, 0, {0.001, 0.0025}}));
    EXPECT_EQ(candidates_of(*scenario).size(), 4U);
    EXPECT_EQ(scenario->steps, 10U);
    EXPECT_EQ(scenario->seed, 3U);
}

TEST(ScenarioFile, SizesMayHaveAUnit) {
    const auto scenario =
        parse_scenario(std::string("[job]\nbytes = \"2 MB\"\n") + kStep + kNodes, "f.toml");
    ASSERT_TRUE(scenario) << scenario.error().message;
    EXPECT_EQ(scenario->bytes, 2e6);
}

TEST(ScenarioFile, WhatIsNoTomlIsSaidWithItsLine) {
    EXPECT_EQ(message_of("[job]\nbytes = = 3\n").substr(0, 17), "f.toml:2: not TOM");
}

TEST(ScenarioFile, UnknownKeysAreNamedWithTheAllowedOnes) {
    EXPECT_EQ(
        message_of("[jobs]\n"),
        "f.toml:1: there is no key 'jobs'; use job, step, network, nodes, workers, now, try, run");
    EXPECT_EQ(message_of(std::string(kJob) + "[step]\nmean = 3\n" + kNodes),
              "f.toml:4: there is no key 'step.mean'; use distribution, mean_ms");
    EXPECT_EQ(message_of(std::string(kJob) + kStep + kNodes + "gpus = 3\n"),
              "f.toml:7: there is no key 'nodes[1].gpus'; use count, workers, link_gbit, "
              "memory_gbytes_per_s, machine, zone, slow, step");
}

using WrongFile = std::pair<std::string, const char*>;

void expect_messages(const std::vector<WrongFile>& files) {
    for (const auto& [text, message] : files) EXPECT_EQ(message_of(text), message) << text;
}

TEST(ScenarioFile, WrongValuesOfTheJobAndTheStepAreSaidWithWhatToGive) {
    const std::string step = kStep;
    const std::string nodes = kNodes;
    const std::vector<WrongFile> files = {
        {"[job]\n" + step + nodes,
         "f.toml: job.bytes is missing: give the model's size, or parameters and dtype"},
        {"[job]\nbytes = 0\n" + step + nodes,
         "f.toml:2: job.bytes = 0: give a whole number from 1 to 1099511627776"},
        {"[job]\nbytes = 1\ndtype = \"f32\"\n" + step + nodes,
         "f.toml:2: job.bytes = 1: give either bytes, or parameters and dtype"},
        {"[job]\nparameters = 9\ndtype = \"int\"\n" + step + nodes,
         "f.toml:3: job.dtype = \"int\": \"int\" is none of f32, f64, f16, bf16"},
        {"[job]\nbytes = 9\nweights = \"even\"\n" + step + nodes,
         "f.toml:3: job.weights = \"even\": \"even\" is none of constant, dynamic"},
        {kJob + nodes, "f.toml: nodes[1].step is missing: give the nodes one, or [step] for all"},
        {std::string(kJob) + "[step]\nmean_ms = -5\n" + nodes,
         "f.toml:4: step.mean_ms = -5: give a number from 0.001 to 3600000"},
        {std::string(kJob) + "[step]\nmean_ms = nan\n" + nodes,
         "f.toml:4: step.mean_ms = nan: give a number from 0.001 to 3600000"},
        {std::string(kJob) + "[step]\ndistribution = \"gamma\"\n" + nodes,
         "f.toml:4: step.distribution = \"gamma\": \"gamma\" is none of constant, normal, "
         "lognormal, exponential, pareto, trace"},
        {std::string(kJob) + "[step]\ndistribution = \"normal\"\nmean_ms = 5\ncv = 2\n" + nodes,
         "f.toml:6: step.cv = 2: give a number from 0 to 0.5"},
        {std::string(kJob) + "[step]\ndistribution = \"pareto\"\nmean_ms = 5\nmin_ms = 5\n" + nodes,
         "f.toml:6: step.min_ms = 5: give less than mean_ms"},
        {std::string(kJob) + "[step]\ndistribution = \"trace\"\ntimes_ms = []\n" + nodes,
         "f.toml:5: step.times_ms = […]: give a list of numbers"},
    };
    expect_messages(files);
}

TEST(ScenarioFile, WrongValuesOfTheRestAreSaidWithWhatToGive) {
    const std::string step = kStep;
    const std::string all = kJob + step + kNodes;
    const std::vector<WrongFile> files = {
        {kJob + step,
         "f.toml: nodes is missing: there are 0 workers in all; give at least 2, "
         "that there is something to average"},
        {kJob + step + "[nodes]\nworkers = 2\n", "f.toml:5: nodes = {…}: give tables, [[nodes]]"},
        {kJob + step + "[[nodes]]\nworkers = 40000\ncount = 2\n",
         "f.toml:6: nodes[1].workers = 40000: the file has more than 65536 workers in all; give "
         "fewer"},
        {kJob + step +
             "[[nodes]]\nworkers = 2\nmachine = \"a\"\n[[nodes]]\nworkers = 2\n"
             "link_gbit = 1\nmachine = \"a\"\n",
         "f.toml:11: nodes[2].machine = \"a\": earlier nodes on it have another memory or link; "
         "give them the same memory_gbytes_per_s and link_gbit"},
        {all + "[[workers]]\nranks = [4]\nslow = 2\n",
         "f.toml:8: workers[1].ranks = […]: give a whole number from 0 to 3"},
        {all + "[try]\npolicies = [\"ring\"]\n",
         "f.toml:8: try.policies = […]: \"ring\" is none of all-reduce, partial-reduce, "
         "prague-random, prague-smart, ad-psgd, full, prague-static, auto, bsp, ssp, asp"},
        {all + "[try]\ngroup_sizes = [1]\n",
         "f.toml:8: try.group_sizes = […]: give a whole number from 2 to 4"},
        {all + "[try]\ngroup_sizes = [5]\n",
         "f.toml:8: try.group_sizes = […]: give a whole number from 2 to 4"},
        {all + "[run]\nsteps = 1\n",
         "f.toml:8: run.steps = 1: give a whole number from 5 to 10000"},
    };
    expect_messages(files);
}

TEST(ScenarioFile, SoAreWrongWordsOfWhatIsTried) {
    const std::string all = std::string(kJob) + kStep + kNodes;
    const std::pair<std::string, const char*> cases[] = {
        {all + "[try]\nquorums = [\"half\"]\n",
         "f.toml:8: try.quorums = […]: give solo, majority, majority-strict, or a number of "
         "workers "
         "from 1 to 4"},
        {all + "[try]\nquorums = [5]\n",
         "f.toml:8: try.quorums = […]: give a whole number from 1 to 4"},
        {all + "[try]\ncompressions = [\"gtopk\"]\n",
         "f.toml:8: try.compressions = […]: \"gtopk\" is none of none, f16, bf16, spardl"},
        {all + "[now]\npolicy = \"partial-reduce\"\n",
         "f.toml: now.group_size is missing: give a whole number from 2 to 4"},
        {all + "[network]\nbetween_zones_gbit = 0\n",
         "f.toml:8: network.between_zones_gbit = 0: give a number from 0.001 to 1000000"},
    };
    for (const auto& [text, message] : cases) EXPECT_EQ(message_of(text), message) << text;
}

TEST(ScenarioFile, TriesEveryPolicyAndTheOneThatChoosesIfItIsNamed) {
    const auto choices = simulated_policies();
    EXPECT_EQ(std::count(choices.words.begin(), choices.words.end(), "prague-static"), 1);
    EXPECT_EQ(std::count(choices.words.begin(), choices.words.end(), "auto"), 1);
    const std::string all = std::string(kJob) + kStep + kNodes;
    for (size_t i = 0; i < choices.words.size(); ++i) {
        EXPECT_EQ(choices.words[i], name_of(choices.choices[i]));
        const auto scenario = parse_scenario(
            all + "[try]\npolicies = [\"" + std::string(choices.words[i]) + "\"]\n", "f.toml");
        ASSERT_TRUE(scenario) << scenario.error().message;
        EXPECT_EQ(scenario->policies, std::vector{choices.choices[i]});
    }
    const auto usual = parse_scenario(all, "f.toml");
    ASSERT_TRUE(usual);
    EXPECT_EQ(usual->policies.size(), choices.choices.size() - 4);
    EXPECT_EQ(
        std::count(usual->policies.begin(), usual->policies.end(), controller::Policy::automatic),
        0);
}

TEST(ScenarioFile, QuorumsCompressionsServersAndWhatTheJobDoesNowAreCandidates) {
    const auto scenario = parse_scenario(std::string(kJob) + kStep + kNodes + R"(
        [now]
        policy = "all-reduce"
        quorum = 2
        [try]
        policies = ["ssp"]
        staleness = [1, 4]
        quorums = ["majority", 3]
        compressions = ["f16", "spardl"]
        densities = [0.01, 0.02]
    )",
                                         "f.toml");
    ASSERT_TRUE(scenario) << scenario.error().message;
    std::vector<std::string> labels;
    for (const Candidate& candidate : candidates_of(*scenario))
        labels.push_back(label_of(candidate));
    EXPECT_EQ(labels, (std::vector<std::string>{
                          "ssp, staleness 1", "ssp, staleness 4", "all-reduce, quorum majority",
                          "all-reduce, quorum 3", "all-reduce, f16", "all-reduce, spardl 0.01",
                          "all-reduce, spardl 0.02", "all-reduce, quorum 2"}));
    EXPECT_EQ(asked_by(candidates_of(*scenario).back()),
              (std::vector<std::pair<std::string, std::string>>{
                  {"policy", "all-reduce"}, {"quorum", "count"}, {"quorum.count", "2"}}));
}

TEST(ScenarioFile, WhatJoinsZonesIsOfTheNetwork) {
    const std::string nodes = "[[nodes]]\nworkers = 1\nzone = \"a\"\n[[nodes]]\nworkers = 1\n";
    const auto scenario = parse_scenario(
        std::string(kJob) + kStep + nodes + "[network]\nbetween_zones_gbit = 4\nlatency_us = 7\n",
        "f.toml");
    ASSERT_TRUE(scenario) << scenario.error().message;
    ASSERT_TRUE(scenario->between_zones);
    EXPECT_EQ(scenario->between_zones->bytes_per_s, 0.5e9);
    EXPECT_DOUBLE_EQ(scenario->between_zones->latency_s, 7e-6);
    std::string many = std::string(kJob) + kStep + "[network]\nbetween_zones_gbit = 4\n";
    for (int zone = 0; zone < 65; ++zone)
        many += "[[nodes]]\nworkers = 1\nzone = \"z" + std::to_string(zone) + "\"\n";
    EXPECT_NE(
        message_of(many).find("they are in 65 zones; with a between_zones key in [network] give "
                              "at most 64"),
        std::string::npos)
        << message_of(many);
}

TEST(ScenarioFile, CandidatesOfTheCommandLineAreCheckedAsWell) {
    auto scenario = parse_scenario(std::string(kJob) + kStep + kNodes, "f.toml");
    ASSERT_TRUE(scenario);
    scenario->group_sizes = {9};
    const auto checked = check_candidates(*scenario);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().message,
              "group.size is 9; use 2 to world, which is 4: a group of one averages nothing, a "
              "larger one never fills");
}

TEST(ScenarioFile, AFileThatIsNotThereIsSaid) {
    const auto scenario = read_scenario("/nowhere/at/all.toml");
    ASSERT_FALSE(scenario);
    EXPECT_NE(scenario.error().message.find("/nowhere/at/all.toml"), std::string::npos);
}

}  // namespace
}  // namespace pace::simulator
