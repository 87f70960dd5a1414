// Tests what well-behaved clients get.
#include "service/http/server/server.h"

#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "service/http/gate.h"
#include "service/http/server/aside.h"
#include "service/http/server/health.h"
#include "service/http/tests/server_fixture.h"

namespace pace::http {
namespace {

TEST(Server, AnswersGetAndHead) {
    const RunningServer server(echo_routes());
    const std::string answer = ask(server, "GET /read?a=1&b=x%20y");
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(body_of(answer), "GET /read a=1 b=x y");
    for (const char* header : {"Cache-Control: no-store", "X-Content-Type-Options: nosniff",
                               "Content-Type: text/plain; charset=utf-8", "Content-Length: 19",
                               "Content-Security-Policy: default-src 'none'"})
        EXPECT_NE(answer.find(header), std::string::npos) << header << "\n" << answer;
    EXPECT_EQ(answer.find("Access-Control"), std::string::npos);
    const std::string head = ask(server, "HEAD /read?a=1&b=x%20y");
    EXPECT_EQ(status_of(head), 200);
    EXPECT_NE(head.find("Content-Length: 19"), std::string::npos);
    EXPECT_EQ(body_of(head), "");
}

TEST(Server, AHandlersHeaderReplacesTheServers) {
    Routes routes;
    routes.get("/page", [](const Request&) {
        Response response;
        response.headers = {{"content-security-policy", "default-src 'self'"}};
        return response;
    });
    const RunningServer server(std::move(routes));
    const std::string answer = ask(server, "GET /page");
    EXPECT_NE(answer.find("default-src 'self'"), std::string::npos);
    EXPECT_EQ(answer.find("default-src 'none'"), std::string::npos);
}

TEST(Server, TheOperatorPostsABody) {
    const Folder folder;
    const RunningServer server(echo_routes(),
                               {.listen = "127.0.0.1:0",
                                .token_file = folder.file("reader", kToken),
                                .operator_token_file = folder.file("operator", kOperatorToken),
                                .tls_certificate = {},
                                .tls_key = {}});
    const auto headers = [](const std::string& token) {
        return "Host: localhost\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 5\r\n";
    };
    const std::string line = "POST /api/nodes/a%20b/drain";
    const std::string done = ask(server, line, headers(kOperatorToken), "hello");
    EXPECT_EQ(body_of(done), "POST /api/nodes/a b/drain [a b] operator hello");
    EXPECT_EQ(status_of(ask(server, line, headers(kToken), "hello")), 403);
    EXPECT_EQ(status_of(ask(server, line, headers("wrong-0123456789abcdef"), "hello")), 401);
    EXPECT_EQ(status_of(ask(server, "GET /read")), 401);
    EXPECT_EQ(status_of(ask(server, "GET /open")), 200);
}

TEST(Server, ALargeAnswerComesWhole) {
    const RunningServer server(echo_routes());
    EXPECT_EQ(body_of(ask(server, "GET /large")).size(), size_t{8} << 20U);
}

// One connection carries many requests, as with browsers and Prometheus.
TEST(Server, KeepsConnectionsOpen) {
    RunningServer server(echo_routes());
    const Client client(server.port());
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(client.send("GET /read HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        EXPECT_EQ(status_of(client.receive_some(4096)), 200) << i;
    }
    EXPECT_EQ(server.counters().requests, 20U);
    EXPECT_EQ(server.counters().connections, 1U);
}

// Answers that come later, in any order, reach the right clients. Others are served meanwhile.
TEST(Server, AnswersLater) {
    std::mutex mutex;
    std::map<std::string, Reply> replies;
    Routes routes = echo_routes();
    routes.get_deferred("/later", [&](const Request& request, Reply reply) {
        const std::lock_guard lock(mutex);
        replies.emplace(request.query.at("n"), std::move(reply));
    });
    const auto replies_held = [&] {
        const std::lock_guard lock(mutex);
        return replies.size();
    };
    RunningServer server(std::move(routes));
    const Client first(server.port());
    const Client second(server.port());
    ASSERT_TRUE(first.send("GET /later?n=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_TRUE(second.send("GET /later?n=2 HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    while (replies_held() < 2) EXPECT_EQ(status_of(ask(server, "GET /read")), 200);
    for (const auto& [number, client] : {std::pair("2", &second), {"1", &first}}) {
        server.on_loop([&, reply = replies.at(number)] {
            reply(refusal(200, std::string("answer ") + number));
            reply(refusal(500, "a second one"));
        });
        EXPECT_EQ(body_of(client->receive_some(4096)), std::string("answer ") + number + "\n");
    }
}

TEST(Server, TellsWhenAnAnswerTakesTooLong) {
    Reply kept;
    Routes routes;
    routes.get_deferred("/never", [&](const Request&, Reply reply) { kept = std::move(reply); });
    Options options;
    options.listen = "127.0.0.1:0";
    options.limits.answer_time_max = std::chrono::milliseconds(100);
    RunningServer server(std::move(routes), options);
    EXPECT_EQ(status_of(ask(server, "GET /never")), 503);
    server.on_loop([&] { kept(refusal(200, "late")); });
    EXPECT_EQ(status_of(ask(server, "GET /never")), 503);
}

// The server ends while answers are being made.
TEST(Server, EndsWithoutTheAnswersThatItWaitsFor) {
    Reply kept;
    {
        Routes routes;
        std::promise<void> asked;
        routes.get_deferred("/never", [&](const Request&, Reply reply) {
            kept = std::move(reply);
            asked.set_value();
        });
        const RunningServer server(std::move(routes));
        const Client client(server.port());
        ASSERT_TRUE(client.send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        asked.get_future().wait();
    }
    kept(refusal(200, "late"));
}

TEST(Server, MakesAnswersAside) {
    const auto loop = base::EventLoop::create();
    ASSERT_TRUE(loop);
    Aside aside(**loop);
    std::thread::id made;
    std::thread::id replied;
    aside.run(
        [&] {
            made = std::this_thread::get_id();
            return refusal(200, "made");
        },
        [&](const Response& response) {
            replied = std::this_thread::get_id();
            EXPECT_EQ(response.body, "made\n");
            (*loop)->stop();
        });
    (*loop)->run();
    EXPECT_EQ(replied, std::this_thread::get_id());
    EXPECT_NE(made, replied);
}

TEST(Server, SaysWhetherItLivesAndIsReady) {
    Routes routes;
    std::optional<std::string> obstacle = "the disk is full";
    add_health(routes, [&obstacle] { return obstacle; });
    const Folder folder;
    const RunningServer server(std::move(routes), {.listen = "127.0.0.1:0",
                                                   .token_file = folder.file("t", kToken),
                                                   .operator_token_file = {},
                                                   .tls_certificate = {},
                                                   .tls_key = {}});
    EXPECT_EQ(status_of(ask(server, "GET /healthz")), 200);
    const std::string not_ready = ask(server, "GET /readyz");
    EXPECT_EQ(status_of(not_ready), 503);
    EXPECT_EQ(body_of(not_ready), "the disk is full\n");
    obstacle.reset();
    EXPECT_EQ(body_of(ask(server, "GET /readyz")), "ready\n");
}

base::Result<std::unique_ptr<Server>> start(base::EventLoop& loop, const Options& options) {
    return Server::create(loop, options, echo_routes());
}

// Asks as the user `nobody`, from a process of its own. Returns whether the answer came, or that it
// was refused, or neither.
enum class Told : uint8_t { neither, answered, refused };

Told ask_as_nobody(const RunningServer& server, const std::string& line) {
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(65534) != 0) _exit(0);
        const int status = status_of(ask(server, line));
        const Told told = status == 200   ? Told::answered
                          : status == 403 ? Told::refused
                                          : Told::neither;
        _exit(static_cast<int>(told));
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    return WIFEXITED(ended) ? static_cast<Told>(WEXITSTATUS(ended)) : Told::neither;
}

TEST(Server, OnLoopbackAnotherUserReadsNothingUnlessTheOperatorSaysSo) {
    if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
    const RunningServer strict(echo_routes());
    Options options;
    options.users = {"nobody"};
    const RunningServer open(echo_routes(), options);
    EXPECT_EQ(ask_as_nobody(strict, "GET /read"), Told::refused);
    EXPECT_EQ(ask_as_nobody(strict, "GET /open"), Told::answered);
    EXPECT_EQ(ask_as_nobody(open, "GET /read"), Told::answered);
    EXPECT_EQ(status_of(ask(strict, "GET /read")), 200) << "the same user";
}

TEST(Server, OffLoopbackItNeedsATokenOrTls) {
    const auto made = base::EventLoop::create();
    ASSERT_TRUE(made);
    base::EventLoop& loop = **made;
    const Folder folder;
    Options options;
    options.listen = "0.0.0.0:0";
    const auto refused = start(loop, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::denied);
    EXPECT_NE(refused.error().message.find("http_token_file"), std::string::npos);
    options.token_file = folder.file("t", kToken);
    const auto served = start(loop, options);
    ASSERT_TRUE(served) << served.error().message;
}

TEST(Server, SaysWhatIsWrongWithItsFiles) {
    const auto made = base::EventLoop::create();
    ASSERT_TRUE(made);
    base::EventLoop& loop = **made;
    const Folder folder;
    Options options;
    options.listen = "127.0.0.1:0";
    options.tls_certificate = folder.file("certificate", "no certificate");
    const auto half = start(loop, options);
    ASSERT_FALSE(half);
    EXPECT_NE(half.error().message.find("http_tls_key"), std::string::npos);
    options.tls_key = folder.file("key", "no key", 0644);
    const auto readable = start(loop, options);
    ASSERT_FALSE(readable);
    EXPECT_EQ(readable.error().kind, base::ErrorKind::denied);
    options.tls_key = folder.file("key", "no key");
    const auto nonsense = start(loop, options);
    ASSERT_FALSE(nonsense);
    EXPECT_NE(nonsense.error().message.find("http_tls_certificate"), std::string::npos)
        << nonsense.error().message;
}

}  // namespace
}  // namespace pace::http
