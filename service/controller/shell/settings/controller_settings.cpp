#include "service/controller/shell/settings/controller_settings.h"

#include "base/random.h"

namespace pace::controller {

ControllerConfig controller_config(const settings::Settings& settings) {
    ControllerConfig config;
    config.listen = {settings.text("listen")};
    config.insecure = settings.enabled("insecure");
    config.any_interface = settings.enabled("any_interface");
    config.journal = settings.text("journal");
    config.cut_damaged_journal = settings.enabled("cut_damaged_journal");
    config.curve_secret_file = settings.text("curve_secret_file");
    config.curve_allowed_dir = settings.text("curve_allowed_dir");
    const auto ms = [&settings](const char* name) {
        return static_cast<uint32_t>(settings.milliseconds(name).count());
    };
    config.heartbeat_ms = ms("heartbeat_ms");
    config.liveness_max_ms = ms("liveness_max_ms");
    config.liveness_min_ms = ms("liveness_min_ms");
    config.probe_wait_ms = ms("probe_wait_ms");
    config.stopped_wait_ms = ms("stopped_wait_ms");
    config.abandoned_keep_s = static_cast<uint32_t>(settings.integer("abandoned_keep_s"));
    config.relay_measured_zones = settings.enabled("relay_measured_zones");
    config.unjoined_keep_s = static_cast<uint32_t>(settings.integer("unjoined_keep_s"));
    config.jobs_max = static_cast<uint32_t>(settings.integer("jobs_max"));
    config.user_jobs_max = static_cast<uint32_t>(settings.integer("user_jobs_max"));
    config.connections_max = static_cast<uint64_t>(settings.integer("connections_max"));
    config.workers_max = static_cast<uint64_t>(settings.integer("workers_max"));
    config.user_workers_max = static_cast<uint64_t>(settings.integer("user_workers_max"));
    config.seed = static_cast<uint64_t>(settings.integer("seed"));
    if (config.seed == 0) config.seed = base::random_token();
    return config;
}

}  // namespace pace::controller
