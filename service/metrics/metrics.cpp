#include "service/metrics/metrics.h"

namespace pace::metrics {

std::string metrics_text(const Json& status, const Json& daemon, Format format) {
    Exposition metrics(format);
    if (status.is_object()) add_cluster(metrics, status);
    if (daemon.is_object()) add_daemon(metrics, daemon);
    return metrics.text();
}

}  // namespace pace::metrics
