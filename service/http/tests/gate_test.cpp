#include "service/http/gate.h"

#include <gtest/gtest.h>

#include "service/http/tests/server_fixture.h"

namespace pace::http {
namespace {

Routes routes() {
    Routes all;
    const auto nothing = [](const Request&) { return Response{}; };
    all.get("/healthz", nothing, Access::anyone);
    all.get("/metrics", nothing);
    all.post("/act", nothing);
    return all;
}

Gate gate(bool loopback, std::string token, std::string operator_token) {
    return Gate({.is_on_loopback = loopback,
                 .own_name = "node-1",
                 .token = std::move(token),
                 .operator_token = std::move(operator_token),
                 .body_bytes_max = 4096,
                 .query_names_max = 4},
                routes());
}

// Returns 200 if a handler is reached.
int status_for(const Gate& at, const Head& head) {
    const auto [admission, wrong] = at.admit(head);
    EXPECT_EQ(admission.route == nullptr, wrong.has_value());
    return wrong ? wrong->status : 200;
}

Head head_of(std::string_view method, std::string_view path, std::string_view authorization = "") {
    Head head;
    head.method = method;
    head.path = path;
    head.hosts = {"localhost"};
    head.authorization = authorization;
    head.user = 0;
    return head;
}

const std::string kReaderSends = std::string("Bearer ") + kToken;
const std::string kOperatorSends = std::string("Bearer ") + kOperatorToken;

TEST(Gate, WithoutATokenLoopbackMayReadAndNobodyActs) {
    const Gate open = gate(true, "", "");
    EXPECT_EQ(status_for(open, head_of("GET", "/metrics")), 200);
    EXPECT_EQ(status_for(open, head_of("GET", "/healthz")), 200);
    EXPECT_EQ(status_for(open, head_of("POST", "/act")), 403);
    EXPECT_EQ(status_for(open, head_of("POST", "/act", "Bearer ")), 403);
}

TEST(Gate, WithoutATokenOnlyUsersOfItsOwnReadOnLoopback) {
    Head head = head_of("GET", "/metrics");
    Head health = head_of("GET", "/healthz");
    for (const std::optional<uid_t> user : {std::optional<uid_t>(12345), std::optional<uid_t>()}) {
        head.user = health.user = user;
        const Gate open = gate(true, "", "");
        ASSERT_TRUE(open.asks_for_user());
        EXPECT_EQ(status_for(open, head), 403);
        EXPECT_EQ(status_for(open, health), 200) << "health is no secret";
        EXPECT_EQ(status_for(gate(true, "", kOperatorToken), head), 403);
    }
    head.authorization = kOperatorSends;
    EXPECT_EQ(status_for(gate(true, "", kOperatorToken), head), 200);
    head.authorization = kReaderSends;
    EXPECT_EQ(status_for(gate(true, kToken, ""), head), 200) << "a token is enough";
    EXPECT_FALSE(gate(true, kToken, "").asks_for_user());
}

TEST(Gate, UsersThatTheOperatorNamesReadOnLoopback) {
    const auto gate_for = [](const char* name) {
        Gate::Rules rules;
        rules.users = LocalUsers::from({name}).value();
        return Gate(rules, routes());
    };
    Head head = head_of("GET", "/metrics");
    head.user = 12345;
    EXPECT_EQ(status_for(gate_for("12345"), head), 200);
    EXPECT_EQ(status_for(gate_for("12346"), head), 403);
    head.user.reset();
    EXPECT_EQ(status_for(gate_for("*"), head), 200);
    EXPECT_FALSE(gate_for("*").asks_for_user());
}

TEST(Gate, AReaderNeedsTheToken) {
    const Gate closed = gate(true, kToken, kOperatorToken);
    EXPECT_EQ(status_for(closed, head_of("GET", "/healthz")), 200);
    EXPECT_EQ(status_for(closed, head_of("GET", "/metrics")), 401);
    EXPECT_EQ(status_for(closed, head_of("GET", "/metrics", "Bearer wrong")), 401);
    EXPECT_EQ(status_for(closed, head_of("GET", "/metrics", "Basic abc")), 401);
    EXPECT_EQ(status_for(closed, head_of("GET", "/metrics", kReaderSends)), 200);
    EXPECT_EQ(status_for(closed, head_of("GET", "/metrics", kOperatorSends)), 200);
}

TEST(Gate, OnlyTheOperatorActs) {
    const Gate closed = gate(true, kToken, kOperatorToken);
    EXPECT_EQ(status_for(closed, head_of("POST", "/act")), 401);
    EXPECT_EQ(status_for(closed, head_of("POST", "/act", kReaderSends)), 403);
    const auto [admission, wrong] = closed.admit(head_of("POST", "/act", kOperatorSends));
    ASSERT_FALSE(wrong);
    EXPECT_TRUE(admission.request.is_operator);
    EXPECT_FALSE(closed.admit(head_of("GET", "/metrics", kReaderSends)).first.request.is_operator);
}

TEST(Gate, OnLoopbackTheHostMustBeItsOwn) {
    const Gate open = gate(true, "", "");
    Head head = head_of("GET", "/metrics");
    head.hosts = {"evil.example"};
    EXPECT_EQ(status_for(open, head), 403);
    head.hosts = {};
    EXPECT_EQ(status_for(open, head), 400);
    head.hosts = {"localhost", "evil.example"};
    EXPECT_EQ(status_for(open, head), 400);
    head.hosts = {"node-1:7412"};
    EXPECT_EQ(status_for(open, head), 200);
    const Gate elsewhere = gate(false, "", "");
    head.hosts = {"pace.example"};
    EXPECT_EQ(status_for(elsewhere, head), 200);
}

TEST(Gate, WhatIsOddIsRefused) {
    const Gate open = gate(true, "", kOperatorToken);
    EXPECT_EQ(status_for(open, head_of("GET", "/nothing")), 404);
    EXPECT_EQ(status_for(open, head_of("GET", "/metrics/../act")), 404);
    EXPECT_EQ(status_for(open, head_of("BREW", "/metrics")), 405);
    EXPECT_EQ(status_for(open, head_of("OPTIONS", "/metrics")), 405);
    Head chunked = head_of("POST", "/act", kOperatorSends);
    chunked.has_transfer_encoding = true;
    EXPECT_EQ(status_for(open, chunked), 411);
    for (const auto& [length, status] : {std::pair("4096", 200),
                                         {"4097", 413},
                                         {"99999999999999999999999", 413},
                                         {"-1", 400},
                                         {"12x", 400},
                                         {"", 200}}) {
        Head sized = head_of("POST", "/act", kOperatorSends);
        sized.content_length = length;
        EXPECT_EQ(status_for(open, sized), status) << length;
    }
    Head asking = head_of("GET", "/metrics");
    asking.query = {{"a", "%zz"}};
    EXPECT_EQ(status_for(open, asking), 400);
    asking.query.assign(5, {"a", "b"});
    EXPECT_EQ(status_for(open, asking), 400);
}

// A client's own text comes back as text of one line.
TEST(Gate, ARefusalRepeatsNoControlCharacters) {
    Head head = head_of("GET", "/metrics");
    const std::string host = "evil\x1b[31m\n" + std::string(500, 'a');
    head.hosts = {host};
    const auto wrong = gate(true, "", "").admit(head).second;
    ASSERT_TRUE(wrong);
    EXPECT_LT(wrong->body.size(), 300U);
    EXPECT_EQ(wrong->body.find('\x1b'), std::string::npos);
    EXPECT_EQ(wrong->body.find('\n'), wrong->body.size() - 1);
}

}  // namespace
}  // namespace pace::http
