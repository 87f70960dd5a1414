#include "service/http/routes.h"

#include <gtest/gtest.h>

namespace pace::http {
namespace {

Routes some_routes() {
    Routes routes;
    const auto nothing = [](const Request&) { return Response{}; };
    routes.get("/", nothing);
    routes.get("/api/status", nothing);
    routes.get("/api/nodes/*", nothing);
    routes.post("/api/nodes/*", nothing);
    routes.post("/api/nodes/*/drain", nothing);
    return routes;
}

TEST(Routes, ArePathsSegmentBySegment) {
    const Routes routes = some_routes();
    EXPECT_NE(routes.find("GET", "/").route, nullptr);
    EXPECT_NE(routes.find("GET", "/api/status").route, nullptr);
    EXPECT_NE(routes.find("HEAD", "/api/status").route, nullptr);
    for (const char* path :
         {"", "/api", "/api/status/", "//api/status", "/api/Status", "/api/nodes/",
          "/api/nodes/a/b", "/api/nodes/%00", "/api/nodes/%zz/drain"})
        EXPECT_TRUE(routes.find("GET", path).allowed.empty()) << path;
}

TEST(Routes, AStarIsOneSegmentDecoded) {
    const auto found = some_routes().find("POST", "/api/nodes/rack%2F3%20a/drain");
    EXPECT_EQ(found.names, std::vector<std::string>{"rack/3 a"});
    EXPECT_EQ(found.allowed, "POST");
}

TEST(Routes, SayWhichMethodsAPathHas) {
    const auto found = some_routes().find("DELETE", "/api/nodes/a");
    EXPECT_EQ(found.route, nullptr);
    EXPECT_EQ(found.allowed, "GET, HEAD, POST");
    EXPECT_EQ(some_routes().find("POST", "/api/status").route, nullptr);
    EXPECT_EQ(some_routes().find("get", "/api/status").route, nullptr);
}

}  // namespace
}  // namespace pace::http
