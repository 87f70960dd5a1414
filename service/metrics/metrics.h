// The documents of the controller and of a daemon, and the process that serves them, as metrics. Pure.
//
// How many series there are is bounded, whatever the cluster's size: at most kWorkersMax workers have series of their own, each at most
// kSeriesOfWorker; the sums of a job are of all of its workers. The labels pace_job, rank and node are never Prometheus's own `job`
// and `instance`.
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

// What status_json() of the controller says.
void add_cluster(Exposition& metrics, const Json& status);
// What daemon_document() of a node's daemon says.
void add_daemon(Exposition& metrics, const Json& daemon);

// Both, as one text. Either may be null.
std::string metrics_text(const Json& status, const Json& daemon, Format format);

}  // namespace pace::metrics
