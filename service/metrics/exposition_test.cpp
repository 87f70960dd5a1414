#include "service/metrics/exposition.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pace::metrics {
namespace {

constexpr Family kGauge{"pace_x_seconds", Type::gauge, "seconds", "A gauge."};
constexpr Family kCounter{"pace_y", Type::counter, "", "A counter."};
constexpr Family kInfo{"pace_z", Type::info, "", "An info."};
constexpr Family kHistogram{"pace_h", Type::histogram, "", "A histogram."};

std::string all_of_them(Format format) {
    Exposition metrics(format);
    metrics.add(kGauge, {{"node", "a"}}, 1.5);
    metrics.add(kCounter, {}, 7);
    metrics.add(kGauge, {{"node", "b"}}, 2);  // not next to the other sample of its family
    metrics.add(kInfo, {{"version", "1"}}, 1);
    metrics.add_histogram(kHistogram, {{"node", "a"}}, {2, 0, 1});
    return metrics.text();
}

TEST(Exposition, ThePlainFormat) {
    EXPECT_EQ(all_of_them(Format::prometheus), R"(# HELP pace_x_seconds A gauge.
# TYPE pace_x_seconds gauge
pace_x_seconds{node="a"} 1.5
pace_x_seconds{node="b"} 2
# HELP pace_y_total A counter.
# TYPE pace_y_total counter
pace_y_total 7
# HELP pace_z_info An info.
# TYPE pace_z_info gauge
pace_z_info{version="1"} 1
# HELP pace_h A histogram.
# TYPE pace_h histogram
pace_h_bucket{node="a",le="0.0"} 2
pace_h_bucket{node="a",le="1.0"} 2
pace_h_bucket{node="a",le="2.0"} 3
pace_h_bucket{node="a",le="+Inf"} 3
pace_h_sum{node="a"} 2
pace_h_count{node="a"} 3
)");
}

// Families have no suffix of their samples. There are units, and an end.
TEST(Exposition, OpenMetrics) {
    const std::string text = all_of_them(Format::openmetrics);
    for (const char* part : {"# TYPE pace_x_seconds gauge\n# UNIT pace_x_seconds seconds\n",
                             "# TYPE pace_y counter\npace_y_total 7\n",
                             "# TYPE pace_z info\npace_z_info{version=\"1\"} 1\n"})
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
    EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(Exposition, LabelsAreEscaped) {
    EXPECT_EQ(Labels({{"pace_job", "a\"b\\c\nd\x1b"}}).text(), R"(pace_job="a\"b\\c?d?")");
    EXPECT_EQ(Labels({{"a", "1"}}).with("b", "2").text(), R"(a="1",b="2")");
}

TEST(Exposition, NumbersThatAreNone) {
    Exposition metrics(Format::prometheus);
    metrics.add(kCounter, {{"n", "1"}}, std::numeric_limits<double>::quiet_NaN());
    metrics.add(kCounter, {{"n", "2"}}, -std::numeric_limits<double>::infinity());
    metrics.add(kCounter, {{"n", "3"}}, 1e300);
    const std::string text = metrics.text();
    for (const char* line : {"{n=\"1\"} NaN\n", "{n=\"2\"} -Inf\n", "{n=\"3\"} 1e+300\n"})
        EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST(Exposition, TheAcceptHeaderChooses) {
    // Prometheus 2.42 sends this.
    EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                         "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
              Format::openmetrics);
    EXPECT_EQ(format_for("Application/OpenMetrics-Text"), Format::openmetrics);
    for (const char* accept :
         {"", "*/*", "text/plain", "text/html,*/*;q=0.8", "application/openmetrics-text;q=0",
          "application/openmetrics-text;q=0.3, text/plain;q=0.5", ",,,", ";q=x"})
        EXPECT_EQ(format_for(accept), Format::prometheus) << accept;
}

}  // namespace
}  // namespace pace::metrics
