// Web: a daemon's HTTP pages: metrics and health, and those of its controller if that runs in the
// same process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "daemon/node.h"
#include "service/controller/web/console.h"
#include "service/http/options.h"
#include "service/http/server/server.h"
#include "service/metrics/page.h"

namespace pace::daemon {

class Web {
  public:
    // Starts to listen. `loop` and `node` must outlive the returned object.
    static base::Result<std::unique_ptr<Web>> create(base::EventLoop& loop,
                                                     const http::Options& options, Node& node);
    Web(const Web&) = delete;
    Web& operator=(const Web&) = delete;

    const std::string& url() const { return server_->url(); }

  private:
    Web(base::EventLoop& loop, Node& node);

    metrics::Page metrics_;
    // Serves the controller in this process.
    std::optional<controller::Console> console_;
    std::unique_ptr<http::Server> server_;  // last, since it calls the others
};

}  // namespace pace::daemon
