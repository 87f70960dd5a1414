// The workers of a job as text: what each does, how long that takes, and who is slow. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "service/pacectl/document.h"
#include "service/pacectl/node_names.h"

namespace pace::pacectl {

// A line a worker; the slowest `limit` of them when there are more.
std::string workers_text(const Json& job, const NodeNames& names, size_t limit);

// Who is slow, by how much, since when and why. Of an older controller: the slowest.
std::string slow_lines(const Json& job, const NodeNames& names);

}  // namespace pace::pacectl
