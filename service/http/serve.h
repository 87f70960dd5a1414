// serve: what a program has by HTTP, where its settings say so.
#pragma once

#include <memory>
#include <utility>

#include "base/event_loop.h"
#include "base/log.h"
#include "base/result.h"
#include "service/http/options.h"

namespace pace::http {

// Web::create(loop, options, owner) listens; null if http_listen is empty. Logs where it does.
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
