#include "service/page/status_document.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pace::page {
namespace {

using Json = nlohmann::json;

Json worker(uint32_t rank, const std::string& status, uint64_t iteration) {
    return {{"rank", rank},
            {"status", status},
            {"iteration", iteration},
            {"rounds_submitted", 7},
            {"waited", {{"total_s", 1.0}}}};
}

Json document() {
    Json first = worker(0, "active", 100);
    first["loss"] = 0.5;
    Json second = worker(1, "active", 90);
    second["loss"] = nullptr;
    Json third = worker(2, "lost", 3);
    third["loss"] = 9.0;
    const Json job{{"name", "fashion"},
                   {"run", {{"id", "r"}, {"began_ns", 42}}},
                   {"recent_groups", {{{"members", {{{"rank", 5}}}}}}},
                   {"workers", {first, second, third}}};
    return {{"clock_us", 1234}, {"jobs", {job}}, {"nodes", {{{"name", "n"}}}}};
}

TEST(StatusDocument, TellsTheStepsAndTheLossOfEachJob) {
    const Samples samples = samples_of(document().dump());
    EXPECT_EQ(samples.clock_us, 1234);
    ASSERT_EQ(samples.jobs.size(), 1U);
    const JobSample& job = samples.jobs[0];
    EXPECT_EQ(job.name, "fashion");
    EXPECT_EQ(job.began_ns, 42U);
    ASSERT_EQ(job.workers.size(), 3U);
    EXPECT_EQ(job.workers[1].steps, 90U);
    EXPECT_TRUE(job.workers[1].is_active);
    EXPECT_FALSE(job.workers[2].is_present);
    // A loss that is not finite does not count, and neither does the loss of a lost worker.
    EXPECT_EQ(job.loss, 0.5);
}

TEST(StatusDocument, WhereNoIterationsAreToldRoundsCount) {
    Json changed = document();
    changed["jobs"][0]["workers"][0]["iteration"] = 0;
    EXPECT_EQ(samples_of(changed.dump()).jobs[0].workers[0].steps, 7U);
}

TEST(StatusDocument, WhatIsOfAnotherKindIsLeftOut) {
    for (
        const char* strange :
        {"", "{", "[]", "7", R"({"jobs": 3, "clock_us": "x"})", R"({"jobs": [null, 7, []]})",
         R"({"jobs": [{"name": 3, "run": [], "workers": {"rank": 1}}]})",
         R"({"jobs": [{"name": "a", "workers": [3, null, {"rank": -1, "loss": "x", "status": []}]}]})"}) {
        const Samples samples = samples_of(strange);
        EXPECT_EQ(samples.clock_us, 0) << strange;
        for (const JobSample& job : samples.jobs) EXPECT_FALSE(job.loss) << strange;
    }
}

}  // namespace
}  // namespace pace::page
