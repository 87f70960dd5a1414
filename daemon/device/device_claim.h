// DeviceClaim: lets daemons on one machine notice that they use the same GPU.
//
// The claim is a listening socket in the abstract namespace, named after the device. It vanishes
// with its owner, and a process that connects learns the owner's process id. Containers with their
// own network namespaces do not see each other's claims.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::device {

// Returns the claim, held while the descriptor is open. Error: taken, if another process holds it;
// the message names that process.
base::Result<base::UniqueFd> claim_device(const std::string& id);

}  // namespace pace::device
