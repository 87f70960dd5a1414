#include "service/controller/web/console.h"

namespace pace::controller {

using base::Result;

Console::Console(base::EventLoop& loop, ControllerServer& server)
    : server_(server), page_(loop, [&server] { return server.status_json(); }) {}

void Console::add_to(http::Routes& routes) {
    page_.add_to(routes);
    page::add_commands(routes, *this);
}

Result<> Console::set_draining(const std::string& node, bool draining) {
    return server_.set_draining(node, draining);
}

Result<> Console::delete_job(const std::string& job) {
    return server_.delete_job(job);
}

}  // namespace pace::controller
