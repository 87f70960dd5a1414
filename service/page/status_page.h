// StatusPage: the routes of the page on an HTTP server. They also serve what the page requests
// besides the controller's own documents (service/controller/web): the jobs' history, which a timer
// extends, and the role of the given token.
//
//   page::StatusPage page(loop, [&] { return controller.status_json(); });
//   page.add_to(routes);
//
// Belongs to the loop's thread. Must outlive the server that has the routes.
#pragma once

#include <functional>
#include <string>

#include "base/loop/event_loop.h"
#include "service/http/message.h"
#include "service/http/routes.h"
#include "service/page/history.h"

namespace pace::page {

class StatusPage {
  public:
    // `status` returns the controller's status document, like ControllerServer::status_json.
    StatusPage(base::EventLoop& loop, std::function<std::string()> status);
    StatusPage(const StatusPage&) = delete;
    StatusPage& operator=(const StatusPage&) = delete;

    // Adds "/" and "/assets/*" for anyone, because they reveal nothing. Adds
    // "/api/history?since=CLOCK_US&job=NAME" and "/api/role" for readers.
    void add_to(http::Routes& routes);

  private:
    void sample();
    http::Response history(const http::Request& request) const;

    base::EventLoop& loop_;
    std::function<std::string()> status_;
    History history_;
    base::Timer timer_;
};

}  // namespace pace::page
