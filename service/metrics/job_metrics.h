// The series of one job: sums over all of its workers, and those of the model that it may keep on
// servers.
#pragma once

#include <map>
#include <string>

#include "service/metrics/exposition.h"
#include "service/metrics/fields.h"

namespace pace::metrics {

// "joining", "running" or "finished". Also works for a document whose jobs have no state.
std::string state_of_job(const Json& job);

// `workers_left` is the number of workers that may still get series of their own. `node_names` are
// the names of the document's nodes.
void add_job(Exposition& metrics, const Json& job,
             const std::map<uint64_t, std::string>& node_names, size_t& workers_left);

}  // namespace pace::metrics
