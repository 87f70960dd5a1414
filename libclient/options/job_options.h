// KnownJob: the job that this worker asks for, and what this library knows about the job. A daemon
// of a later release may know more.
#pragma once

#include "base/result.h"
#include "protocol/options/asked_options.h"

namespace pace::client {

using protocol::AskedOptions;

struct KnownJob {
    AskedOptions asked;
    // Null means that this library does not know the name of the policy.
    const protocol::PolicyRow* policy = nullptr;
    bool is_top_k = false;

    bool is_of(protocol::Family family) const {
        return policy != nullptr && policy->family == family;
    }
};

// Refuses options that no daemon would take. The message names the option. The daemon judges names
// that this library does not know, and whether the options make sense together.
base::Result<KnownJob> known_job(const AskedOptions& asked);

}  // namespace pace::client
