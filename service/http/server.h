// Server: a small HTTP/1.1 server as a guest of an event loop, for a status page, metrics and health checks.
//
//   http::Routes routes;
//   routes.get("/healthz", [](const http::Request&) { return http::Response{.body = "ok\n"}; }, http::Access::anyone);
//   PACE_TRY_ASSIGN(server, http::Server::create(loop, {.listen = "127.0.0.1:0"}, std::move(routes)));
//   log_info("http", {{"url", server->url()}});
//
// It belongs to the loop's thread, on which handlers are called. Whoever connects costs bounded memory and bounded time
// (Limits). With every answer go Cache-Control: no-store, X-Content-Type-Options: nosniff, Referrer-Policy: no-referrer and
// a Content-Security-Policy that allows nothing; a handler's headers of the same names replace these. No answer says that
// another origin's script may read it.
//
// Who may ask. On loopback the Host header must be a loopback name or address, or this machine's name: a page of somebody
// else, whose name suddenly leads to 127.0.0.1, gets nothing (DNS rebinding). Off loopback the server does not start without
// a token or TLS. Tokens come as "Authorization: Bearer TOKEN" and are compared in constant time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/result.h"
#include "service/http/message.h"
#include "service/http/options.h"
#include "service/http/routes.h"

namespace pace::http {

class Server {
  public:
    // Listens. Fails with invalid or denied on a bad configuration, taken if the port is in use.
    static base::Result<std::unique_ptr<Server>> create(base::EventLoop& loop,
                                                        const Options& options, Routes routes);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Where it listens, with the port that it got: "http://127.0.0.1:40123".
    const std::string& url() const;

    struct Counters {
        uint64_t requests = 0;     // that a handler has answered
        uint64_t refused = 0;      // that were answered without a handler
        uint64_t cut_off = 0;      // connections that took too long
        uint64_t connections = 0;  // now
    };
    Counters counters() const;

  private:
    struct State;
    explicit Server(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pace::http
