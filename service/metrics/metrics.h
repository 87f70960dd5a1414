// Turns the documents of the controller and of a daemon, and the state of the process that serves
// them, into metrics. Pure.
//
// The number of series is bounded, whatever the cluster's size. At most kWorkersMax workers have
// series of their own, each at most kSeriesOfWorker. The sums of a job cover all of its workers.
// The labels pace_job, rank and node never collide with Prometheus's own `job` and `instance`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "service/metrics/exposition.h"
#include "service/metrics/fields.h"

namespace pace::metrics {

constexpr size_t kWorkersMax = 1024;  // of all jobs together
constexpr size_t kSeriesOfWorker = 20;
constexpr size_t kJobsMax = 256;
constexpr size_t kNodesMax = 1024;
constexpr size_t kShardsMax = 1024;
constexpr size_t kUsersMax = 64;

// Adds the series of the controller's status_json().
void add_cluster(Exposition& metrics, const Json& status);
// Adds the series of a node daemon's daemon_document().
void add_daemon(Exposition& metrics, const Json& daemon);

// Returns both as one text. Either may be null.
std::string metrics_text(const Json& status, const Json& daemon, Format format);

}  // namespace pace::metrics
