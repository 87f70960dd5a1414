#include "service/simulator/choice/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "service/simulator/choice/choice.h"
#include "service/simulator/model/scenario_fixture.h"

namespace pace::simulator {
namespace {

using controller::Policy;

Prediction made_of(Policy policy, uint32_t size, double updates_per_s, double rho, double spread) {
    Prediction prediction;
    prediction.candidate.policy = policy;
    prediction.candidate.group_size = size;
    prediction.outcome.updates = 100;
    prediction.outcome.updates_per_s = updates_per_s;
    prediction.outcome.update_median_s = 0.0123;
    prediction.outcome.update_slowest_s = 2;
    prediction.outcome.waiting_share = 0.25;
    prediction.outcome.conflicts = 5;
    prediction.outcome.rho = rho;
    prediction.outcome.spread = spread;
    return prediction;
}

// Predictions with 100, 200 and 190 effective updates per second.
std::vector<Prediction> three_predictions() {
    return {made_of(Policy::all_reduce, 0, 100, 0, 0),
            made_of(Policy::partial_reduce, 3, 300, 0.75, 0.5),
            made_of(Policy::prague_smart, 2, 380, 0.99995, 1)};
}

TEST(Choice, IsTheOneWithTheMostUpdatesOnACommonModel) {
    const std::vector<Prediction> predictions = three_predictions();
    EXPECT_EQ(best_of(predictions), 1U);
    EXPECT_EQ(advice(predictions),
              "Choose partial-reduce with groups of 3 (policy partial-reduce, group_size 3): 300 "
              "updates per second, worth 200 made on one common model, the most of all. All-reduce "
              "makes 100 updates per second, 0.33 times as many, and its workers wait 25 % of "
              "their time. Most updates are made by prague-smart with groups of 2 (380 per "
              "second), but on models that are further apart (spread 1.00, here 0.50).");
}

TEST(Choice, OfEqualsIsTheFirst) {
    const Prediction same = made_of(Policy::full, 0, 100, 0, 0);
    EXPECT_EQ(best_of(std::vector{same, same}), 0U);
}

TEST(Choice, IsNotOneThatLeavesWorkersApart) {
    const std::vector<Prediction> apart = {made_of(Policy::prague_random, 2, 900, 1, 2),
                                           made_of(Policy::all_reduce, 0, 1, 0, 0)};
    EXPECT_EQ(best_of(apart), 1U);
    EXPECT_NE(advice({apart.data(), 1}).find("None of these connects all workers"),
              std::string::npos);
}

TEST(Report, TheTableHasARowForEachAndMarksTheBest) {
    const std::string text = table(even_cluster(2, 2), three_predictions(), {});
    EXPECT_NE(text.find("4 workers on 2 nodes, 10 MB, 40 updates of the average worker, seed 1"),
              std::string::npos);
    EXPECT_NE(text.find("all-reduce        all        100  12.3 ms   2.00 s   25.0 %"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("5.0 %      0.750    0.50          200  <-\n"), std::string::npos) << text;
    EXPECT_NE(text.find("1-5.0e-05"), std::string::npos) << text;
    EXPECT_NE(text.find("\nChoose partial-reduce"), std::string::npos);
}

TEST(Choice, MayBeStaticGroups) {
    const std::vector<Prediction> predictions = {made_of(Policy::all_reduce, 0, 100, 0, 0),
                                                 made_of(Policy::prague_static, 0, 150, 0.8, 0.25)};
    EXPECT_EQ(best_of(predictions), 1U);
    EXPECT_EQ(advice(predictions).substr(0, 53),
              "Choose prague-static (policy prague-static): 150 upda");
    EXPECT_NE(table(even_cluster(2, 2), predictions, {}).find("prague-static      -  "),
              std::string::npos)
        << table(even_cluster(2, 2), predictions, {});
}

TEST(Report, TheDocumentHasTimesInSeconds) {
    const auto json = nlohmann::json::parse(document(even_cluster(2, 2), three_predictions(), {}));
    EXPECT_EQ(json["scenario"]["workers"], 4);
    ASSERT_EQ(json["predictions"].size(), 3U);
    EXPECT_TRUE(json["predictions"][0]["group_size"].is_null());
    EXPECT_EQ(json["predictions"][1]["policy"], "partial-reduce");
    EXPECT_EQ(json["predictions"][1]["update_median_s"], 0.0123);
    EXPECT_EQ(json["predictions"][1]["conflict_share"], 0.05);
    EXPECT_EQ(json["choice"]["group_size"], 3);
    EXPECT_EQ(json["choice"]["effective_per_s"], 200);
}

TEST(Report, EndsWithTheGainInOneSentence) {
    Gain gain;
    gain.choice.policy = Policy::partial_reduce;
    gain.choice.group_size = 3;
    gain.ratios = {2, 1.9, 2.1};
    Scenario scenario = even_cluster(2, 2);
    scenario.notes = {"Assumed: this."};
    const std::string sentence =
        "Choose partial-reduce with groups of 3: expect +100.0 % effective updates per second "
        "(+90.0 % to +110.0 % with 3 seeds) over all-reduce.";
    const std::string text = table(scenario, three_predictions(), gain);
    EXPECT_TRUE(text.ends_with("\n\n" + sentence + "\n")) << text;
    EXPECT_NE(text.find("seed 1\nAssumed: this.\n\nPOLICY"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(document(scenario, three_predictions(), gain));
    EXPECT_EQ(json["gain"]["advice"], sentence);
    EXPECT_EQ(json["gain"]["ratio_least"], 1.9);
    EXPECT_EQ(json["scenario"]["notes"][0], "Assumed: this.");
    EXPECT_EQ(json["choice"]["options"]["group.size"], "3");
}

TEST(Choice, SaysWhatOfLearningIsNotInTheFigures) {
    std::vector<Prediction> predictions = {made_of(Policy::all_reduce, 0, 100, 0, 0)};
    predictions[0].candidate.quorum = controller::Quorum::solo;
    EXPECT_NE(advice(predictions)
                  .find("Choose all-reduce with quorum solo (policy all-reduce, quorum "
                        "solo): "),
              std::string::npos);
    EXPECT_TRUE(advice(predictions)
                    .ends_with("gradients of an older model may be worth less is not "
                               "in these figures."));
}

}  // namespace
}  // namespace pace::simulator
