// Tests how many series there are in large clusters.
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "service/metrics/metrics.h"
#include "service/metrics/test_documents.h"

namespace pace::metrics {
namespace {

size_t series_in(const std::string& text) {
    std::istringstream lines(text);
    size_t series = 0;
    for (std::string line; std::getline(lines, line);) series += line.starts_with('#') ? 0 : 1;
    return series;
}

// Counts the series whose labels name a rank, by rank.
std::map<std::string, size_t> series_by_rank(const std::string& text) {
    std::map<std::string, size_t> count;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const size_t at = line.find("rank=\"");
        if (at != std::string::npos) ++count[line.substr(at + 6, line.find('"', at + 6) - at - 6)];
    }
    return count;
}

TEST(MetricsBounds, AThousandWorkersHaveSeriesOfTheirOwn) {
    const std::string text = metrics_text(status_of(1000), nullptr, Format::openmetrics);
    const auto by_rank = series_by_rank(text);
    EXPECT_EQ(by_rank.size(), 1000U);
    for (const auto& [rank, series] : by_rank) EXPECT_LE(series, kSeriesOfWorker) << rank;
    EXPECT_TRUE(has_line(text, R"(pace_job_unlisted_workers{pace_job="large"} 0)"));
    RecordProperty("series", static_cast<int>(series_in(text)));
    RecordProperty("bytes", static_cast<int>(text.size()));
    EXPECT_LT(series_in(text), 1000 * kSeriesOfWorker);
}

TEST(MetricsBounds, OfFiveThousandTheFirstOnesAndSums) {
    const std::string text = metrics_text(status_of(5000), nullptr, Format::openmetrics);
    EXPECT_EQ(series_by_rank(text).size(), kWorkersMax);
    EXPECT_TRUE(has_line(text, R"(pace_job_unlisted_workers{pace_job="large"} 3976)"));
    EXPECT_TRUE(has_line(text, R"(pace_job_workers{pace_job="large",status="active"} 5000)"));
    EXPECT_TRUE(has_line(text, R"(pace_job_progress_first{pace_job="large"} 5999)"));
    RecordProperty("series", static_cast<int>(series_in(text)));
    EXPECT_LT(series_in(text), kWorkersMax * kSeriesOfWorker);
}

}  // namespace
}  // namespace pace::metrics
