// What is served of a controller, in whichever process it runs: its documents.
#pragma once

#include "service/controller/shell/controller_server.h"
#include "service/http/routes.h"

namespace pace::controller {

// /api/status, and /api/events?since=NUMBER: the events with greater numbers. `server` must outlive the routes.
void add_documents(http::Routes& routes, const ControllerServer& server);

}  // namespace pace::controller
