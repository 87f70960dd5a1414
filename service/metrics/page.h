// Page: /metrics of a program. What is told is taken on the loop's thread; the text is made aside, since that takes a large cluster's
// tens of milliseconds, and so seldom that a twentieth of a processor goes into it, whoever asks.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "service/http/aside.h"
#include "service/http/message.h"
#include "service/http/routes.h"
#include "service/metrics/exposition.h"

namespace pace::metrics {

class Page {
  public:
    // Called on the loop's thread.
    struct Sources {
        std::function<std::string()> status;          // the controller's document; empty: none here
        std::function<std::string()> daemon;          // the daemon's; empty: none here
        std::function<void(Exposition&)> of_process;  // what the program says of itself
    };
    Page(base::EventLoop& loop, Sources sources) : sources_(std::move(sources)), aside_(loop) {}

    void answer(const http::Request& request, http::Reply reply);

  private:
    struct Kept {
        std::string text;
        base::TimePoint good_until{};
        std::vector<http::Reply> waiting;  // while it is made
    };
    void make(Format format);
    void made(Format format, const http::Response& response, base::Duration took);

    Sources sources_;
    std::array<Kept, 2> kept_;  // of each format
    http::Aside aside_;
};

// Serves `page`, which must outlive the server, as /metrics.
void add_metrics(http::Routes& routes, Page& page);

}  // namespace pace::metrics
