#include "service/controller/web/web.h"

#include <utility>

#include "service/controller/web/routes.h"
#include "service/http/server/health.h"
#include "service/metrics/process_metrics.h"

namespace pace::controller {

using base::Result;

Web::Web(base::EventLoop& loop, ControllerServer& server)
    : metrics_(loop, {.status = [&server] { return server.status_json(); },
                      .daemon = {},
                      .of_process =
                          [this, &loop](metrics::Exposition& to) {
                              metrics::add_controller_loop(to, loop.watch_of_steps());
                              metrics::add_http(to, server_->counters());
                          }}),
      console_(loop, server) {}

Result<std::unique_ptr<Web>> Web::create(base::EventLoop& loop, const http::Options& options,
                                         ControllerServer& server) {
    std::unique_ptr<Web> web(new Web(loop, server));
    http::Routes routes;
    http::add_health(routes, [&server] { return server.obstacle(); });
    metrics::add_metrics(routes, web->metrics_);
    add_documents(routes, server);
    web->console_.add_to(routes);
    PACE_TRY_ASSIGN(listening, http::Server::create(loop, options, std::move(routes)));
    web->server_ = std::move(listening);
    return web;
}

}  // namespace pace::controller
