#include "service/page/commands.h"

#include <string_view>

namespace pace::page {

namespace {

http::Response answer(const base::Result<>& result) {
    http::Response response;
    if (result) {
        response.body = "done\n";
        return response;
    }
    response.status = result.error().kind == base::ErrorKind::not_found ? 404 : 409;
    response.body = result.error().message + "\n";
    return response;
}

}  // namespace

void add_commands(http::Routes& routes, Commands& commands) {
    const auto drain = [&commands](bool draining) {
        return [&commands, draining](const http::Request& request) {
            return answer(commands.set_draining(request.names.front(), draining));
        };
    };
    routes.post("/api/nodes/*/drain", drain(true));
    routes.post("/api/nodes/*/undrain", drain(false));
    routes.post("/api/jobs/*/delete", [&commands](const http::Request& request) {
        return answer(commands.delete_job(request.names.front()));
    });
}

}  // namespace pace::page
