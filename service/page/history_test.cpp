#include "service/page/history.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pace::page {
namespace {

using Json = nlohmann::json;

constexpr int64_t kSecond = 1'000'000;

JobSample job(const std::string& name, std::vector<uint64_t> steps) {
    JobSample sample{.name = name, .began_ns = 1, .workers = {}, .loss = {}};
    for (uint32_t rank = 0; rank < steps.size(); ++rank)
        sample.workers.push_back(
            {.rank = rank, .steps = steps[rank], .is_present = true, .is_active = true});
    return sample;
}

Json job_of(const History& history, const std::string& name, int64_t after_us = 0) {
    const Json json = Json::parse(history.json(after_us, name));
    EXPECT_EQ(json["jobs"].size(), 1U) << name;
    return json["jobs"].empty() ? Json() : json["jobs"][0];
}

TEST(History, APointTellsUpdatesASecondSinceTheOneBefore) {
    History history;
    history.add(10 * kSecond, {job("a", {100, 200})});
    history.add(15 * kSecond, {job("a", {110, 250})});
    const Json told = job_of(history, "a");
    EXPECT_EQ(told["at_us"], Json({10 * kSecond, 15 * kSecond}));
    EXPECT_EQ(told["updates_per_s"], Json({nullptr, 12.0}));
    EXPECT_EQ(told["steps"], Json({200, 250}));
}

TEST(History, ANewcomerThatTakesTheOthersStepHasNotComputedIt) {
    History history;
    JobSample before = job("a", {100, 0});
    before.workers[1].is_active = false;
    history.add(10 * kSecond, {before});
    history.add(15 * kSecond, {job("a", {105, 105})});
    EXPECT_EQ(job_of(history, "a")["updates_per_s"][1], 1.0);
}

TEST(History, WhatIsNotFiniteIsNullAndNotTheEndOfTheLine) {
    History history;
    JobSample sample = job("a", {1});
    history.add(10 * kSecond, {sample});
    sample.loss = 0.5;
    history.add(15 * kSecond, {sample});
    EXPECT_EQ(job_of(history, "a")["loss"], Json({nullptr, 0.5}));
}

TEST(History, SamplesThatComeTooOftenAddNoPoints) {
    History history;
    for (int64_t at = 0; at < 60; ++at)
        history.add(at * kSecond, {job("a", {static_cast<uint64_t>(at)})});
    EXPECT_LE(history.points(), 60U / 3 + 1);
    EXPECT_GE(history.points(), 60U / 5);
}

TEST(History, AnHourIsKeptAndTheOldestPointsGoFirst) {
    History history;
    const int64_t last = 2 * static_cast<int64_t>(History::kPointsMax);
    for (int64_t at = 1; at <= last; ++at)
        history.add(at * 5 * kSecond, {job("a", {static_cast<uint64_t>(at)})});
    EXPECT_EQ(history.points(), History::kPointsMax);
    const Json told = job_of(history, "a");
    EXPECT_EQ(told["at_us"].size(), History::kPointsMax);
    EXPECT_EQ(told["steps"].front(), last - static_cast<int64_t>(History::kPointsMax) + 1);
    EXPECT_EQ(told["steps"].back(), last);
    EXPECT_EQ(job_of(history, "a", (last - 2) * 5 * kSecond)["steps"], Json({last - 1, last}));
}

TEST(History, AnotherRunUnderTheSameNameBeginsAnew) {
    History history;
    history.add(10 * kSecond, {job("a", {1000})});
    JobSample anew = job("a", {1});
    anew.began_ns = 2;
    history.add(15 * kSecond, {anew});
    EXPECT_EQ(job_of(history, "a")["steps"], Json({1}));
    EXPECT_EQ(job_of(history, "a")["updates_per_s"], Json::array({nullptr}));
}

TEST(History, JobsBeyondTheLimitDisplaceThoseThatAreGoneAlone) {
    History history;
    std::vector<JobSample> jobs;
    for (size_t i = 0; i < History::kJobsMax + 2; ++i)
        jobs.push_back(job("job-" + std::to_string(i), {1}));
    history.add(10 * kSecond, jobs);
    Json json = Json::parse(history.json(0, ""));
    EXPECT_EQ(json["jobs"].size(), History::kJobsMax);
    EXPECT_EQ(json["jobs_left_out"], 2);

    // Two jobs are gone. Their places are taken once their last points are old.
    jobs.erase(jobs.begin(), jobs.begin() + 2);
    for (const int64_t at : {15, 20}) history.add(at * kSecond, jobs);
    json = Json::parse(history.json(0, ""));
    EXPECT_EQ(json["jobs"].size(), History::kJobsMax);
    EXPECT_EQ(json["jobs_left_out"], 0);
    EXPECT_TRUE(Json::parse(history.json(0, "job-0"))["jobs"].empty());
    EXPECT_EQ(job_of(history, "job-65")["steps"], Json({1}));
}

TEST(History, NamesThatAreNoTextStillMakeADocument) {
    History history;
    history.add(10 * kSecond, {job("\xff\"\\<img src=x>", {1})});
    EXPECT_EQ(Json::parse(history.json(0, ""))["jobs"].size(), 1U);
}

}  // namespace
}  // namespace pace::page
