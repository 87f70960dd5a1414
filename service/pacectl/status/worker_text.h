// Worker text: the workers of a job as text: their activities, durations, and which are slow. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "service/pacectl/console/document.h"
#include "service/pacectl/facts/node_names.h"

namespace pace::pacectl {

// One line per worker; the slowest `limit` if there are more.
std::string workers_text(const Json& job, const NodeNames& names, size_t limit);

// The slow workers: by how much, since when and why. For an older controller: the slowest worker.
std::string slow_lines(const Json& job, const NodeNames& names);

}  // namespace pace::pacectl
