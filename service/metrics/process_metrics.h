// The series of the process that serves metrics: what the kernel tells about it. The names are
// those that Prometheus's own clients use.
#pragma once

#include "base/loop/loop_watch.h"
#include "service/http/server/server.h"
#include "service/metrics/exposition.h"

namespace pace::metrics {

// Reads /proc/self, which does not block.
void add_process(Exposition& metrics);

// The event loop of pace-controller. A daemon's document has the series of the daemon's own loop.
void add_controller_loop(Exposition& metrics, const base::LoopWatch& watch);

// The counters of the HTTP server.
void add_http(Exposition& metrics, const http::Server::Counters& counters);

}  // namespace pace::metrics
