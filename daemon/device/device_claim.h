// DeviceClaim: by which daemons on one machine notice that they use the same GPU.
//
// A listening socket in the abstract namespace, named after the device: nothing lies about when its owner dies, and who connects
// learns the owner's process. Containers with network namespaces of their own do not see each other.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::device {

// Holds the claim while it lives. ErrorKind::taken: another process holds it, which the message names.
base::Result<base::UniqueFd> claim_device(const std::string& id);

}  // namespace pace::device
