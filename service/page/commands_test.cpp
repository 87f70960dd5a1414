#include "service/page/commands.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pace::page {
namespace {

// Knows one node and one job that has a worker.
class Recorded final : public Commands {
  public:
    base::Result<> set_draining(const std::string& node, bool draining) override {
        if (node != "n 1")
            return base::make_error(base::ErrorKind::not_found, "there is no node '{}'", node);
        done.push_back((draining ? "drain " : "undrain ") + node);
        return {};
    }
    base::Result<> delete_job(const std::string& job) override {
        if (job == "busy")
            return base::make_error(base::ErrorKind::taken, "a worker is in job '{}'", job);
        done.push_back("delete " + job);
        return {};
    }
    std::vector<std::string> done;
};

class CommandsTest : public ::testing::Test {
  protected:
    CommandsTest() { add_commands(routes_, commands_); }

    http::Response post(std::string_view path) {
        const auto found = routes_.find("POST", path);
        if (found.route == nullptr) return {};
        EXPECT_EQ(found.route->access, http::Access::operator_only) << path;
        http::Request request;
        request.method = "POST";
        request.path = path;
        request.names = found.names;
        request.is_operator = true;
        http::Response response;
        found.route->handler(request, [&](http::Response given) { response = std::move(given); });
        return response;
    }

    Recorded commands_;
    http::Routes routes_;
};

TEST_F(CommandsTest, AreDoneByName) {
    EXPECT_EQ(post("/api/nodes/n%201/drain").status, 200);
    EXPECT_EQ(post("/api/nodes/n%201/undrain").status, 200);
    EXPECT_EQ(post("/api/jobs/old/delete").status, 200);
    EXPECT_EQ(commands_.done, (std::vector<std::string>{"drain n 1", "undrain n 1", "delete old"}));
}

TEST_F(CommandsTest, WhatIsRefusedSaysWhy) {
    EXPECT_EQ(post("/api/nodes/n2/drain").status, 404);
    EXPECT_EQ(post("/api/nodes/n2/drain").body, "there is no node 'n2'\n");
    EXPECT_EQ(post("/api/jobs/busy/delete").status, 409);
    EXPECT_EQ(post("/api/jobs/busy/delete").body, "a worker is in job 'busy'\n");
    EXPECT_TRUE(commands_.done.empty());
}

TEST_F(CommandsTest, AreNoDocumentsToRead) {
    for (const char* path : {"/api/nodes/n1/drain", "/api/nodes/n1/undrain", "/api/jobs/a/delete"})
        EXPECT_EQ(routes_.find("GET", path).route, nullptr) << path;
}

}  // namespace
}  // namespace pace::page
