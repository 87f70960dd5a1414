#include "service/metrics/metrics.h"
#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/status/daemon_text.h"
#include "service/pacectl/status/status_text.h"

namespace pace::pacectl {

int show_status(const client::Endpoint& endpoint, bool json) {
    const auto status = fetch_document(endpoint, "status");
    if (!status) return say_error(status.error());
    return print(json ? json_text(*status) : status_text(*status, {}));
}

int show_daemon(const client::Endpoint& endpoint, bool json) {
    const auto daemon = fetch_document(endpoint, "daemon");
    if (!daemon) return say_error(daemon.error());
    return print(json ? json_text(*daemon) : daemon_text(*daemon));
}

int show_metrics(const client::Endpoint& endpoint) {
    const auto daemon = fetch_document(endpoint, "daemon");
    if (!daemon) return say_error(daemon.error());
    // Without a controller the daemon's metrics are still printed.
    const auto status = fetch_document(endpoint, "status");
    return print(
        metrics::metrics_text(status ? *status : Json(), *daemon, metrics::Format::prometheus));
}

}  // namespace pace::pacectl
