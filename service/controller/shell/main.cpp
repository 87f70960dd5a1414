// pace-controller: the controller in its own process. Only wiring.

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "base/log/log.h"
#include "base/log/log_events.h"
#include "base/loop/event_loop.h"
#include "base/unique_fd.h"
#include "service/controller/shell/controller_server.h"
#include "service/controller/shell/service_manager.h"
#include "service/controller/shell/settings/controller_settings.h"
#include "service/controller/web/web.h"
#include "service/http/server/serve.h"
#include "settings/log_level.h"
#include "settings/settings.h"

namespace {

using pace::base::Result;

// Returns a descriptor for SIGTERM and SIGINT. Call before any thread starts, so that all threads
// inherit the mask. SIGXFSZ is ignored: a file at its size limit makes write(2) fail instead of
// ending the process.
Result<pace::base::UniqueFd> signals() {
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
        return pace::base::make_errno_error(errno, "block signals");
    pace::base::UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.valid()) return pace::base::make_errno_error(errno, "watch signals");
    return fd;
}

// Logs the callbacks that held up the loop.
void tell_stalls(pace::base::EventLoop& loop) {
    loop.watch_of_steps().set_handler([](const pace::base::LoopWatch::Step& step) {
        pace::base::log_event(
            pace::base::events::kLoopStoodStill,
            {{"ms", pace::base::to_seconds(step.took) * 1e3}, {"callback", step.origin}});
    });
}

Result<> serve(const pace::settings::Settings& settings) {
    PACE_TRY_ASSIGN(signal_fd, signals());
    PACE_TRY_ASSIGN(loop, pace::base::EventLoop::create());
    const auto config = pace::controller::controller_config(settings);
    tell_stalls(*loop);
    pace::base::log_event(pace::base::events::kControllerStarts,
                          {{"version", PACE_VERSION}, {"journal", config.journal}});
    PACE_TRY_ASSIGN(server, pace::controller::ControllerServer::create(*loop, nullptr, config));
    PACE_TRY_ASSIGN(web, pace::http::serve<pace::controller::Web>(*loop, settings, *server));
    pace::controller::ServiceManager manager(*loop, [&] { return server->status_line(); });
    PACE_TRY(loop->watch(signal_fd.get(), EPOLLIN, [&](uint32_t) { loop->stop(); }));

    for (const std::string& endpoint : server->endpoints())
        std::printf("listening %s\n", endpoint.c_str());
    if (web) std::printf("http %s\n", web->url().c_str());
    std::fflush(stdout);
    pace::base::log_event(pace::base::events::kControllerReady,
                          {{"endpoint", server->endpoints().front()},
                           {"seed", config.seed},
                           {"version", PACE_VERSION}});
    manager.ready();
    loop->run();
    manager.stopping();
    pace::base::log_event(pace::base::events::kControllerStops);
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    const auto loaded =
        pace::settings::load(pace::settings::controller_table(), argc, argv, environ);
    if (!loaded) {
        pace::base::log_error(loaded.error().message);
        return 2;
    }
    if (loaded->print) {
        std::fputs(loaded->print->c_str(), stdout);
        return 0;
    }
    pace::base::set_log_level(pace::settings::log_level_of(loaded->settings));
    for (const std::string& warning : loaded->warnings) pace::base::log_warning(warning);
    if (const auto served = serve(loaded->settings); !served) {
        pace::base::log_event(pace::base::events::kControllerCannotServe,
                              {{"kind", pace::base::error_kind_name(served.error().kind)},
                               {"because", served.error().message}});
        return 1;
    }
    return 0;
}
