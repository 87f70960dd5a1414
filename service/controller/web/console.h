// Console: the browser interface of a controller: the status page with its history, and operator
// commands.
#pragma once

#include <string>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "service/controller/shell/controller_server.h"
#include "service/http/routes.h"
#include "service/page/commands.h"
#include "service/page/status_page.h"

namespace pace::controller {

class Console final : private page::Commands {
  public:
    // `loop` and `server` must outlive the console.
    Console(base::EventLoop& loop, ControllerServer& server);

    // The console must outlive the routes.
    void add_to(http::Routes& routes);

  private:
    base::Result<> set_draining(const std::string& node, bool draining) override;
    base::Result<> delete_job(const std::string& job) override;

    ControllerServer& server_;
    page::StatusPage page_;
};

}  // namespace pace::controller
