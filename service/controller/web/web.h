// Web: everything that pace-controller serves by HTTP.
#pragma once

#include <memory>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "service/controller/shell/controller_server.h"
#include "service/controller/web/console.h"
#include "service/http/options.h"
#include "service/http/server/server.h"
#include "service/metrics/page.h"

namespace pace::controller {

class Web {
  public:
    // Starts to listen. `loop` and `server` must outlive the returned object.
    static base::Result<std::unique_ptr<Web>> create(base::EventLoop& loop,
                                                     const http::Options& options,
                                                     ControllerServer& server);
    Web(const Web&) = delete;
    Web& operator=(const Web&) = delete;

    const std::string& url() const { return server_->url(); }

  private:
    Web(base::EventLoop& loop, ControllerServer& server);

    metrics::Page metrics_;
    Console console_;
    std::unique_ptr<http::Server> server_;  // last: it calls the others
};

}  // namespace pace::controller
