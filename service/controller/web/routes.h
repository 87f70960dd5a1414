// Routes: the documents that every controller serves by HTTP, in any process.
#pragma once

#include "service/controller/shell/controller_server.h"
#include "service/http/routes.h"

namespace pace::controller {

// Serves /api/status, and /api/events?since=NUMBER with the events of greater numbers. `server`
// must outlive the routes.
void add_documents(http::Routes& routes, const ControllerServer& server);

}  // namespace pace::controller
