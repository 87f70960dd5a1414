// The series of the process that serves metrics: what the kernel says of it, under the names that Prometheus's own clients use.
#pragma once

#include "base/loop_watch.h"
#include "service/http/server.h"
#include "service/metrics/exposition.h"

namespace pace::metrics {

// Reads /proc/self, which does not block.
void add_process(Exposition& metrics);

// The event loop of pace-controller. A daemon's document tells of its own.
void add_controller_loop(Exposition& metrics, const base::LoopWatch& watch);

// What the HTTP server has done.
void add_http(Exposition& metrics, const http::Server::Counters& counters);

}  // namespace pace::metrics
