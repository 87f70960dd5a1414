#include "daemon/web.h"

#include <utility>

#include "service/controller/shell/controller_server.h"
#include "service/controller/web/routes.h"
#include "service/http/server/health.h"
#include "service/metrics/process_metrics.h"

namespace pace::daemon {

using base::Result;

namespace {

std::function<std::string()> status_of(Node& node) {
    const controller::ControllerServer* controller = node.controller();
    if (controller == nullptr) return {};
    return [controller] { return controller->status_json(); };
}

}  // namespace

Web::Web(base::EventLoop& loop, Node& node)
    : metrics_(loop, {.status = status_of(node),
                      .daemon = [&node] { return node.document(); },
                      .of_process =
                          [this](metrics::Exposition& to) {
                              metrics::add_http(to, server_->counters());
                          }}) {}

Result<std::unique_ptr<Web>> Web::create(base::EventLoop& loop, const http::Options& options,
                                         Node& node) {
    std::unique_ptr<Web> web(new Web(loop, node));
    http::Routes routes;
    http::add_health(routes, [&node] { return node.obstacle(); });
    metrics::add_metrics(routes, web->metrics_);
    if (auto* controller = node.controller()) {
        controller::add_documents(routes, *controller);
        web->console_.emplace(loop, *controller).add_to(routes);
    }
    PACE_TRY_ASSIGN(listening, http::Server::create(loop, options, std::move(routes)));
    web->server_ = std::move(listening);
    return web;
}

}  // namespace pace::daemon
