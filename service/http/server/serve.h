// serve: starts a program's HTTP server if its settings ask for one.
#pragma once

#include <memory>
#include <utility>

#include "base/log/log.h"
#include "base/loop/event_loop.h"
#include "base/result.h"
#include "service/http/options.h"

namespace pace::http {

// Calls Web::create(loop, options, owner), which listens, and logs the URL. Returns null if
// http_listen is empty.
template <typename Web, typename Owner>
base::Result<std::unique_ptr<Web>> serve(base::EventLoop& loop, const settings::Settings& settings,
                                         Owner& owner) {
    const Options options = options_from(settings);
    if (options.listen.empty()) return std::unique_ptr<Web>{};
    PACE_TRY_ASSIGN(web, Web::create(loop, options, owner));
    base::log_info("serving http", {{"url", web->url()}});
    return std::move(web);
}

}  // namespace pace::http
