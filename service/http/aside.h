// Aside: answers that take too long for the loop are made on a thread of their own, one after the other.
#pragma once

#include <functional>

#include "base/background_thread.h"
#include "base/event_loop.h"
#include "base/scope.h"
#include "service/http/message.h"

namespace pace::http {

class Aside {
  public:
    explicit Aside(base::EventLoop& loop) : post_(loop.poster()) {}
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

    // `work` runs on the thread and touches nothing of the loop's; `reply` is called on the loop's, unless this has ended. Where there is
    // no memory or no thread for it, the reply says so.
    void run(std::function<Response()> work, const Reply& reply);

  private:
    base::EventLoop::Poster post_;
    base::Scope scope_;
    base::BackgroundThread thread_;  // last: what it still does may post
};

}  // namespace pace::http
