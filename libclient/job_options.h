// KnownJob: the job that this worker asks for, and what this library knows of it. A daemon of a later release may know more.
#pragma once

#include "base/result.h"
#include "protocol/options/asked_options.h"

namespace pace::client {

using protocol::AskedOptions;

struct KnownJob {
    AskedOptions asked;
    const protocol::PolicyRow* policy = nullptr;  // null: this library does not know the word
    bool is_top_k = false;

    bool is_of(protocol::Family family) const {
        return policy != nullptr && policy->family == family;
    }
};

// Refuses what no daemon would take: the message names the option. Names that this library does not know are the daemon's to
// judge, and so is whether the options make sense together.
base::Result<KnownJob> known_job(const AskedOptions& asked);

}  // namespace pace::client
