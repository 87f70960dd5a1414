// What a worker called, in words, for errors about workers that disagree.
#pragma once

#include <string>
#include <vector>

#include "daemon/control/ids.h"
#include "daemon/members/request.h"

namespace pace::daemon {

// "reduce (sum) of 2 buffers (f32 x 1000, f16 x 10)", "broadcast from root 0 of 1 buffer (f32 x
// 8)".
std::string call_text(const Request& request);

// The workers that called something else on another node: "worker 3 on node b", "a worker on node b
// (2 or 3)". `name` is the node's; `ranks` are the node's members.
std::string caller_text(const std::string& name, const std::vector<control::Rank>& ranks);

// One sentence that says what to do about a disagreement.
inline constexpr std::string_view kCallAlike =
    "all workers of a job call the same verbs in the same order, with the same operation and root, "
    "on buffers of "
    "equal types and lengths";

}  // namespace pace::daemon
