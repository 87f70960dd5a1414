// ControllerConfig: the controller's settings. Plain values, so that a daemon that hosts a
// controller needs none of the controller's types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pace::controller {

struct ControllerConfig {
    // The endpoints to listen on: "tcp://127.0.0.1:7733", "tcp://[::1]:0" (port 0: any; endpoints()
    // tells which), "inproc://name". The address is numeric or "localhost".
    std::vector<std::string> listen;

    // Unless set, a controller that listens beyond loopback must encrypt and authenticate the
    // control plane by CURVE (curve_secret_file).
    bool insecure = false;
    // Unless set, listening on every interface ("*", 0.0.0.0, [::]) is refused.
    bool any_interface = false;

    // If set, a journal that is damaged before its end is cut there instead of refused.
    bool cut_damaged_journal = false;
    std::string journal;  // path; empty: hard state lives as long as the process

    std::string curve_secret_file;  // controller's secret key; empty: no CURVE
    std::string curve_allowed_dir;  // public keys (*.public) that may connect; empty: any key

    uint32_t heartbeat_ms = 200;  // interval that daemons are told

    // Settings of the core, see core/core.h.
    uint64_t seed = 1;
    uint32_t liveness_max_ms = 2000;
    uint32_t liveness_min_ms = 500;
    uint32_t probe_wait_ms = 30;
    uint32_t stopped_wait_ms = 2000;
    uint32_t abandoned_keep_s = 600;
    uint32_t recent_groups = 256;
    bool relay_measured_zones = false;
    uint32_t unjoined_keep_s = 86'400;
    uint32_t jobs_max = 4096;
    uint32_t user_jobs_max = 256;
    // The most TCP connections, of daemons and others. At most half of the process's open files.
    uint64_t connections_max = 1024;
    uint64_t workers_max = 262'144;
    uint64_t user_workers_max = 65'536;

    bool operator==(const ControllerConfig&) const = default;
};

}  // namespace pace::controller
