// StatusPage: the page as routes of an HTTP server, with what it asks for beside the controller's own documents (service/controller/web):
// the jobs' history, kept by a timer, and whose token it has.
//
//   page::StatusPage page(loop, [&] { return controller.status_json(); });
//   page.add_to(routes);
//
// It belongs to the loop's thread, and outlives the server that has its routes.
#pragma once

#include <functional>
#include <string>

#include "base/event_loop.h"
#include "service/http/message.h"
#include "service/http/routes.h"
#include "service/page/history.h"

namespace pace::page {

class StatusPage {
  public:
    // `status` gives the controller's status document, as ControllerServer::status_json does.
    StatusPage(base::EventLoop& loop, std::function<std::string()> status);
    StatusPage(const StatusPage&) = delete;
    StatusPage& operator=(const StatusPage&) = delete;

    // "/" and "/assets/*" for anyone, since they tell nothing; for readers "/api/history?since=CLOCK_US&job=NAME" and "/api/role".
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
