// What a node of the status document has, as text: its memory and its GPUs. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// Whether a node tells of its memory or its GPUs: an older controller's do not.
bool tells_machines(const Json& status);

// "22.8 of 64.0 GiB" in use; "-" where it is not told.
std::string memory_text(const Json& node);
// "8 (12 %)": how many, and how much of their memory is in use, of those of which that is known;
// "-" where it is not told.
std::string gpus_text(const Json& node);

// A line a node, with the names of its GPUs; empty where no node tells.
std::string machines_text(const Json& status, size_t limit);

}  // namespace pace::pacectl
