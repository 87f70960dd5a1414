// Aside: makes answers that take too long for the loop. They are made on a separate thread, one
// after the other.
#pragma once

#include <functional>

#include "base/loop/event_loop.h"
#include "base/loop/scope.h"
#include "base/threads/background_thread.h"
#include "service/http/message.h"

namespace pace::http {

class Aside {
  public:
    explicit Aside(base::EventLoop& loop) : post_(loop.poster()) {}
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

    // Runs `work` on the thread. `work` must not touch the loop's state. `reply` is called on the
    // loop's thread, unless the Aside has been destroyed by then. If there is no memory or no
    // thread for the work, the reply says so.
    void run(std::function<Response()> work, const Reply& reply);

  private:
    base::EventLoop::Poster post_;
    base::Scope scope_;
    base::BackgroundThread thread_;  // last: its remaining work may post
};

}  // namespace pace::http
