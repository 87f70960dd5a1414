// Tests what badly behaved clients get, and that other clients are served meanwhile.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <list>
#include <thread>
#include <vector>

#include "service/http/server/server.h"
#include "service/http/tests/server_fixture.h"

namespace pace::http {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGet = "GET /read HTTP/1.1\r\nHost: localhost\r\n\r\n";

Options impatient() {
    Options options;
    options.listen = "127.0.0.1:0";
    options.limits.request_time_max = 300ms;
    options.limits.answer_time_max = 300ms;
    return options;
}

// A byte now and then keeps the connection from being idle, but does not keep it open.
TEST(HostileClients, ASlowRequestIsCutOff) {
    RunningServer server(echo_routes(), impatient());
    const Client slow(server.port());
    const base::TimePoint begin = base::now();
    ASSERT_TRUE(slow.send("GET /read HTTP/1.1\r\nHost: localhost\r\n"));
    std::array<pollfd, 1> wait{{{.fd = slow.fd(), .events = POLLIN, .revents = 0}}};
    while (base::now() - begin < 10s && poll(wait.data(), wait.size(), 20) == 0)
        if (!slow.send("X")) break;
    EXPECT_LT(base::now() - begin, 3s);
    EXPECT_GE(base::now() - begin, 300ms);
    EXPECT_TRUE(slow.is_closed_by_server());
    EXPECT_EQ(status_of(ask(server, "GET /read")), 200);
    EXPECT_EQ(server.counters().cut_off, 1U);
}

TEST(HostileClients, WhoSaysNothingIsCutOff) {
    RunningServer server(echo_routes(), impatient());
    const Client silent(server.port());
    EXPECT_TRUE(silent.is_closed_by_server());
    const Client idle(server.port());
    ASSERT_TRUE(idle.send(kGet));
    EXPECT_TRUE(idle.is_closed_by_server());
    EXPECT_EQ(server.counters().cut_off, 2U);
}

TEST(HostileClients, ASlowBodyIsCutOff) {
    const Folder folder;
    Options options = impatient();
    options.operator_token_file = folder.file("t", kOperatorToken);
    RunningServer server(echo_routes(), options);
    const Client slow(server.port());
    ASSERT_TRUE(slow.send(std::string("POST /api/nodes/a/drain HTTP/1.1\r\nHost: localhost\r\n"
                                      "Authorization: Bearer ") +
                          kOperatorToken + "\r\nContent-Length: 100\r\n\r\nhello"));
    EXPECT_TRUE(slow.is_closed_by_server());
    EXPECT_EQ(server.counters().cut_off, 1U);
    EXPECT_EQ(server.counters().requests, 0U);
}

TEST(HostileClients, ASlowReaderIsCutOff) {
    RunningServer server(echo_routes(), impatient());
    const Client slow(server.port());
    ASSERT_TRUE(slow.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const base::TimePoint begin = base::now();
    while (server.counters().cut_off == 0 && base::now() - begin < 10s)
        EXPECT_EQ(status_of(ask(server, "GET /read")), 200);
    EXPECT_EQ(server.counters().cut_off, 1U);
    EXPECT_LT(slow.receive_all().size(), size_t{8} << 20U);
}

// Answers that no client reads take bounded memory together.
TEST(HostileClients, UnreadAnswersAreBounded) {
    Options options;
    options.listen = "127.0.0.1:0";
    options.limits.unread_bytes_max = size_t{20} << 20U;
    RunningServer server(echo_routes(), options);
    std::list<Client> readers;
    for (int i = 0; i < 4; ++i) {
        readers.emplace_back(server.port());
        ASSERT_TRUE(
            readers.back().send("GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: "
                                "close\r\n\r\n"));
        ASSERT_FALSE(readers.back().receive_some(16).empty());
    }
    // Two whole answers have room. The other clients are told that there is no room.
    std::vector<std::string> answers;
    for (const Client& reader : readers) answers.push_back(reader.receive_all());
    EXPECT_GT(answers[0].size(), size_t{8} << 20U);
    EXPECT_GT(answers[1].size(), size_t{8} << 20U);
    EXPECT_LT(answers[2].size(), 1000U);
    EXPECT_LT(answers[3].size(), 1000U);
    EXPECT_NE(answers[2].find("clients read too slowly; come back later"), std::string::npos);
    EXPECT_EQ(status_of(ask(server, "GET /large")), 200);
}

TEST(HostileClients, HugeHeadersAreRefused) {
    RunningServer server(echo_routes());
    const Client client(server.port());
    client.send("GET /read HTTP/1.1\r\nHost: localhost\r\nX: ");
    for (int i = 0; i < 100 && client.send(std::string(10'000, 'x')); ++i) continue;
    EXPECT_TRUE(client.is_closed_by_server());
    const std::string many = ask(server, "GET /read", [] {
        std::string headers = "Host: localhost\r\n";
        for (int i = 0; i < 5000; ++i) headers += "X" + std::to_string(i) + ": y\r\n";
        return headers;
    }());
    EXPECT_NE(status_of(many), 200);
    EXPECT_NE(status_of(ask(server, "GET /" + std::string(100'000, 'a'))), 200);
    EXPECT_EQ(status_of(ask(server, "GET /read")), 200);
    EXPECT_EQ(server.counters().requests, 1U);
}

TEST(HostileClients, ABodyIsBounded) {
    const Folder folder;
    Options options;
    options.listen = "127.0.0.1:0";
    options.operator_token_file = folder.file("t", kOperatorToken);
    RunningServer server(echo_routes(), options);
    const std::string who =
        std::string("Host: localhost\r\nAuthorization: Bearer ") + kOperatorToken + "\r\n";
    const std::string line = "POST /api/nodes/a/drain";
    EXPECT_EQ(
        status_of(ask(server, line, who + "Content-Length: 4097\r\n", std::string(4097, 'x'))),
        413);
    EXPECT_EQ(status_of(ask(server, line, who + "Content-Length: 18446744073709551615\r\n")), 413);
    EXPECT_EQ(status_of(ask(server, line, who + "Transfer-Encoding: chunked\r\n",
                            "5\r\nhello\r\n0\r\n\r\n")),
              411);
    EXPECT_EQ(
        body_of(ask(server, line, who + "Content-Length: 4096\r\n", std::string(4096, 'x'))).size(),
        4096U + sizeof("POST /api/nodes/a/drain [a] operator ") - 1);
    EXPECT_EQ(server.counters().requests, 1U);
}

// Connections beyond the bound of their address are closed at once. Others are accepted when one is
// closed.
TEST(HostileClients, AFloodOfConnectionsIsBounded) {
    Options options;
    options.listen = "127.0.0.1:0";
    options.limits.connections_max = 20;
    options.limits.address_connections_max = 10;
    RunningServer server(echo_routes(), options);
    std::list<Client> flood;
    for (int i = 0; i < 200; ++i) flood.emplace_back(server.port());
    const base::TimePoint begin = base::now();
    while (server.counters().connections < 10 && base::now() - begin < 10s)
        std::this_thread::yield();
    EXPECT_EQ(server.counters().connections, 10U);
    EXPECT_TRUE(flood.back().is_closed_by_server());
    EXPECT_LT(server.longest_step(), 100ms);
    flood.clear();
    while (server.counters().connections > 0 && base::now() - begin < 10s)
        std::this_thread::yield();
    EXPECT_EQ(status_of(ask(server, "GET /read")), 200);
}

// All requests are answered, in order. Slow handlers do not block the loop for the time of all of
// them.
TEST(HostileClients, PipelinedRequestsAreAnsweredInOrder) {
    RunningServer server(echo_routes());
    const Client client(server.port());
    std::string requests;
    for (int i = 0; i < 100; ++i)
        requests += "GET /read?n=" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    requests += "GET /read?n=100 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    ASSERT_TRUE(client.send(requests));
    const std::string answers = client.receive_all();
    size_t at = 0;
    for (int i = 0; i <= 100; ++i) {
        at = answers.find("GET /read n=" + std::to_string(i), at);
        ASSERT_NE(at, std::string::npos) << i;
    }
}

// A handler that takes ten milliseconds.
Routes slow_routes() {
    Routes routes;
    routes.get("/slow", [](const Request&) {
        const base::TimePoint begin = base::now();
        while (base::now() - begin < 10ms) continue;
        return Response{};
    });
    return routes;
}

TEST(HostileClients, PipelinedRequestsDoNotHoldUpTheLoop) {
    RunningServer server(slow_routes());
    const Client client(server.port());
    std::string requests;
    for (int i = 0; i < 200; ++i) requests += "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n";
    client.send(requests);
    const std::string answers = client.receive_all();
    EXPECT_NE(answers.find("200 OK"), std::string::npos);
    EXPECT_LT(server.longest_step(), 100ms);
}

TEST(HostileClients, RequestsOfManyAtOnceDoNotHoldUpTheLoop) {
    Routes routes = slow_routes();
    routes.get("/quick", [](const Request&) { return Response{}; });
    RunningServer server(std::move(routes));
    std::vector<Client> clients;
    for (int i = 0; i < 16; ++i) {
        clients.emplace_back(server.port());
        clients.back().send("GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n");
        ASSERT_FALSE(clients.back().receive_some(16).empty()) << "the server knows the connection";
    }
    // The loop finds all requests in one turn.
    server.on_loop([&clients] {
        for (const Client& client : clients)
            client.send("GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    std::string answers;
    for (const Client& client : clients) answers += client.receive_all();
    EXPECT_NE(answers.find("200 OK"), std::string::npos);
    EXPECT_NE(answers.find("too many requests at once; come back in a second"), std::string::npos);
    EXPECT_LT(server.longest_step(), 100ms);
}

TEST(HostileClients, NonsenseIsRefused) {
    RunningServer server(echo_routes());
    for (const char* line : {"BREW /read", "get /read", "POST /read", "OPTIONS /read",
                             "TRACE /read", "CONNECT localhost"})
        EXPECT_NE(status_of(ask(server, line)), 200) << line;
    for (const char* path : {"/nothing", "/read/", "//read", "/%72ead%00", "/read%", "/..", "*"})
        EXPECT_NE(status_of(ask(server, std::string("GET ") + path)), 200) << path;
    for (const char* headers :
         {"", "Host: evil.example\r\n", "Host: localhost\r\nHost: evil.example\r\n",
          "Host: localhost.evil.example\r\n", "Host:\r\n"})
        EXPECT_NE(status_of(ask(server, "GET /read", headers)), 200) << headers;
    for (const std::string& bytes :
         {std::string(3000, '\0'), std::string("\x16\x03\x01\x02\x00\x01", 6),
          std::string("GET /read\r\n\r\n"), std::string("\r\n\r\n\r\n")}) {
        const Client client(server.port());
        client.send(bytes);
        shutdown(client.fd(), SHUT_WR);
        EXPECT_NE(status_of(client.receive_all()), 200);
    }
    EXPECT_EQ(server.counters().requests, 0U);
    EXPECT_EQ(status_of(ask(server, "GET /read")), 200);
}

// Clients leave in the middle, at every byte. Their connections end at once, not at their
// deadlines.
TEST(HostileClients, WhoLeavesLeavesNothingBehind) {
    RunningServer server(echo_routes());
    const std::string request = kGet;
    for (size_t length = 0; length <= request.size(); ++length) {
        const Client client(server.port());
        client.send(std::string_view(request).substr(0, length));
    }
    const base::TimePoint begin = base::now();
    while (server.counters().connections > 0 && base::now() - begin < 10s)
        std::this_thread::yield();
    EXPECT_EQ(server.counters().connections, 0U);
    EXPECT_EQ(server.counters().cut_off, 0U);
    EXPECT_LT(base::now() - begin, 5s);
}

// The client does what `printf … | nc` does.
TEST(HostileClients, WhoEndsItsOwnSideIsAnsweredAll) {
    const RunningServer server(echo_routes());
    const Client client(server.port());
    ASSERT_TRUE(client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    shutdown(client.fd(), SHUT_WR);
    const base::TimePoint begin = base::now();
    EXPECT_EQ(body_of(client.receive_all()).size(), size_t{8} << 20U);
    EXPECT_LT(base::now() - begin, 5s);
}

}  // namespace
}  // namespace pace::http
