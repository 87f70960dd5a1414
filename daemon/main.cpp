// paced: the daemon of one node. This file only connects the parts; docs/architecture.md explains
// them.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/log/daemon_events.h"
#include "base/log/log.h"
#include "daemon/config.h"
#include "daemon/node.h"
#include "daemon/program.h"
#include "daemon/web.h"
#include "service/http/server/serve.h"
#include "settings/log_level.h"
#include "settings/settings.h"
#include "transports/ucx/ucx_process.h"

namespace {

using pace::base::Error;

int fail(const Error& error) {
    if (pace::base::log_is_journal()) {
        pace::base::log_event(pace::base::events::kDaemonCannotServe, {{"reason", error.message}});
        return 1;
    }
    fmt::print(stderr, "paced: {}\n", error.message);
    return 1;
}

// The context is not taken apart, and nobody is told good-bye: the controller, the trainers and the
// service manager go on as after any death of a daemon.
void end_at_once(const Error& error) {
    pace::base::log_event(pace::base::events::kGpuFailed, {{"reason", error.message}});
    std::_Exit(1);
}

int serve(const pace::settings::Settings& settings) {
    auto config = pace::daemon::node_config(settings);
    if (!config) return fail(config.error());
    config->find_gpus = true;
    config->gpu.failed = end_at_once;
    pace::base::set_log_node(config->name);
    pace::base::log_event(
        pace::base::events::kDaemonStarts,
        {{"node", config->name},
         {"version", PACE_VERSION},
         {"controller", config->controller.empty() ? "embedded" : config->controller}});
    auto loop =
        pace::base::EventLoop::create(std::chrono::microseconds(settings.integer("spin_us")));
    if (!loop) return fail(loop.error());
    const auto signals = pace::daemon::stop_on_signals(**loop);
    if (!signals) return fail(signals.error());
    auto node = pace::daemon::Node::create(**loop, *config);
    if (!node) return fail(node.error());
    const auto web = pace::http::serve<pace::daemon::Web>(**loop, settings, **node);
    if (!web) return fail(web.error());

    pace::base::log_event(pace::base::events::kDaemonReady,
                          {{"node", config->name}, {"socket", config->socket}});
    pace::daemon::ServiceManager manager(**loop, [&node] { return (*node)->status_line(); });
    manager.ready();
    // Without a service manager, the parent process learns from standard output that the daemon is
    // ready.
    if (*web) fmt::print("http {}\n", (*web)->url());
    fmt::print("ready\n");
    std::fflush(stdout);
    (*loop)->run();
    pace::daemon::ServiceManager::stopping();
    pace::base::log_event(pace::base::events::kDaemonStops);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    pace::transports::restart_without_ucx_effects();
    auto loaded = pace::settings::load(pace::settings::daemon_table(), argc, argv, environ);
    if (!loaded) return fail(loaded.error());
    if (loaded->print) {
        fmt::print("{}", *loaded->print);
        return 0;
    }
    pace::base::set_log_level(pace::settings::log_level_of(loaded->settings));
    for (const std::string& warning : loaded->warnings) pace::base::log_warning(warning);
    return serve(loaded->settings);
}
