#include "service/page/status_page.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace pace::page {
namespace {

using Json = nlohmann::json;

class StatusPageTest : public ::testing::Test {
  protected:
    StatusPageTest() { page_.add_to(routes_); }

    http::Response ask(std::string_view path, http::Request request = {}) {
        const auto found = routes_.find("GET", path);
        if (found.route == nullptr) {
            http::Response missing;
            missing.status = 404;
            return missing;
        }
        request.method = "GET";
        request.path = path;
        request.names = found.names;
        http::Response response;
        found.route->handler(request, [&](http::Response given) { response = std::move(given); });
        return response;
    }
    http::Access access(std::string_view path) { return routes_.find("GET", path).route->access; }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    std::string status_ = "{}";
    StatusPage page_{*loop_, [this] { return status_; }};
    http::Routes routes_;
};

TEST_F(StatusPageTest, ThePageIsForAnyoneAndWhatItTellsForReaders) {
    for (const char* path : {"/", "/assets/main.js"}) {
        EXPECT_EQ(access(path), http::Access::anyone) << path;
        EXPECT_EQ(ask(path).status, 200) << path;
    }
    for (const char* path : {"/api/history", "/api/role"}) {
        EXPECT_EQ(access(path), http::Access::reader) << path;
        EXPECT_EQ(ask(path).type, "application/json") << path;
    }
    EXPECT_EQ(ask("/assets/none.js").status, 404);
    EXPECT_EQ(ask("/assets/a/b").status, 404);
}

TEST_F(StatusPageTest, TheRoleIsWhatTheServerSaysOfTheToken) {
    EXPECT_EQ(Json::parse(ask("/api/role").body), Json({{"operator", false}}));
    http::Request request;
    request.is_operator = true;
    EXPECT_EQ(Json::parse(ask("/api/role", request).body), Json({{"operator", true}}));
}

// A point is taken at once, and then by the timer.
TEST_F(StatusPageTest, TheHistoryBeginsWithTheFirstDocument) {
    status_ = R"({"clock_us": 7, "jobs": [{"name": "a", "run": {"began_ns": 1}, "workers": []}]})";
    const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
    while (Json::parse(ask("/api/history").body)["jobs"].empty() && base::now() < deadline)
        loop_->turn(true);
    const Json told = Json::parse(ask("/api/history").body)["jobs"];
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0]["at_us"], Json({7}));

    http::Request request;
    request.query = {{"since", "7"}, {"job", "a"}};
    EXPECT_EQ(Json::parse(ask("/api/history", request).body)["jobs"][0]["at_us"], Json::array());
    request.query = {{"job", "b"}};
    EXPECT_EQ(Json::parse(ask("/api/history", request).body)["jobs"], Json::array());
    for (const char* nonsense : {"", "-1", "1x", "99999999999999999999999"}) {
        request.query = {{"since", nonsense}};
        EXPECT_EQ(Json::parse(ask("/api/history", request).body)["jobs"][0]["at_us"], Json({7}))
            << nonsense;
    }
}

}  // namespace
}  // namespace pace::page
