// Page: /metrics of a program. The data are collected on the loop's thread. The text is made on
// another thread, because it takes tens of milliseconds for a large cluster. It is made so seldom
// that it takes at most a twentieth of a processor, however many clients ask.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/loop/event_loop.h"
#include "service/http/message.h"
#include "service/http/routes.h"
#include "service/http/server/aside.h"
#include "service/metrics/exposition.h"

namespace pace::metrics {

class Page {
  public:
    // Called on the loop's thread.
    struct Sources {
        // The controller's document. Empty if there is none in this program.
        std::function<std::string()> status;
        // The daemon's document. Empty if there is none in this program.
        std::function<std::string()> daemon;
        std::function<void(Exposition&)> of_process;  // the program's own metrics
    };
    Page(base::EventLoop& loop, Sources sources) : sources_(std::move(sources)), aside_(loop) {}

    void answer(const http::Request& request, http::Reply reply);

  private:
    struct Kept {
        std::string text;
        base::TimePoint good_until{};
        std::vector<http::Reply> waiting;  // clients that wait while it is made
    };
    void make(Format format);
    // `took` is the processor time of making the text.
    void made(Format format, const http::Response& response, base::Duration took);

    Sources sources_;
    std::array<Kept, 2> kept_;  // one for each format
    http::Aside aside_;
};

// Serves `page`, which must outlive the server, as /metrics.
void add_metrics(http::Routes& routes, Page& page);

}  // namespace pace::metrics
