#include "transports/tls/stranger_reports.h"

#include <gtest/gtest.h>

namespace pace::transports::tls {
namespace {

TEST(StrangerReports, TellSomeInARowAndThenOneEachSecond) {
    StrangerReports reports;
    base::TimePoint now = base::now();
    for (int i = 0; i < 100; ++i) reports.add("192.0.2.1:7", "it said nothing", now);
    const auto first = reports.take();
    ASSERT_EQ(first.size(), StrangerReports::kInARow);
    EXPECT_EQ(first[0].unreported, 0U);
    EXPECT_EQ(first[0].source, "192.0.2.1:7");
    now += StrangerReports::kOneEach;
    for (int i = 0; i < 50; ++i) reports.add("192.0.2.1:7", "it said nothing", now);
    const auto second = reports.take();
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].unreported, 100 - StrangerReports::kInARow);
    now += 1000 * StrangerReports::kOneEach;
    for (int i = 0; i < 50; ++i) reports.add("192.0.2.1:7", "it said nothing", now);
    EXPECT_EQ(reports.take().size(), StrangerReports::kInARow) << "quiet times add up to a bound";
    EXPECT_TRUE(reports.empty());
}

}  // namespace
}  // namespace pace::transports::tls
