// The series of one job, which are of all of its workers, and of the model that it may keep on servers.
#pragma once

#include <map>
#include <string>

#include "service/metrics/exposition.h"
#include "service/metrics/fields.h"

namespace pace::metrics {

// "joining", "running" or "finished", also of a document whose jobs do not say so.
std::string state_of_job(const Json& job);

// `workers_left` is how many more workers may have series of their own; `node_names` are those of the document's nodes.
void add_job(Exposition& metrics, const Json& job,
             const std::map<uint64_t, std::string>& node_names, size_t& workers_left);

}  // namespace pace::metrics
