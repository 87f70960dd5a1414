// Server: a small HTTP/1.1 server on an event loop, for a status page, metrics and health checks.
//
//   http::Routes routes;
//   routes.get("/healthz", healthy, http::Access::anyone);
//   PACE_TRY_ASSIGN(server, http::Server::create(loop, options, std::move(routes)));
//   log_info("http", {{"url", server->url()}});
//
// The server belongs to the loop's thread, and handlers are called on this thread. A client costs
// bounded memory and bounded time (Limits). Every answer has these headers: Cache-Control:
// no-store, X-Content-Type-Options: nosniff, Referrer-Policy: no-referrer, and a
// Content-Security-Policy that allows nothing. A handler's headers of the same names replace them.
// No answer allows a script of another origin to read it.
//
// Access: on loopback, the Host header must be a loopback name, a loopback address, or this
// machine's name. So a foreign page whose name is made to resolve to 127.0.0.1 gets nothing (DNS
// rebinding). Without a token, only the users of Options::users may read there; the kernel tells
// whose a connection is. Off loopback, the server does not start without a token or TLS. Tokens
// come as "Authorization: Bearer TOKEN" and are compared in constant time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "service/http/message.h"
#include "service/http/options.h"
#include "service/http/routes.h"

namespace pace::http {

class Server {
  public:
    // Listens. Fails with invalid or denied for a bad configuration, and with taken if the port is
    // in use.
    static base::Result<std::unique_ptr<Server>> create(base::EventLoop& loop,
                                                        const Options& options, Routes routes);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // The URL at which the server listens, with the port that it got: "http://127.0.0.1:40123".
    const std::string& url() const;

    struct Counters {
        uint64_t requests = 0;     // answered by a handler
        uint64_t refused = 0;      // answered without a handler
        uint64_t cut_off = 0;      // connections that took too long
        uint64_t connections = 0;  // open now
    };
    Counters counters() const;

  private:
    struct State;
    explicit Server(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pace::http
