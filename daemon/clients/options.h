// Job options between the client plane's table and the control plane's struct. The controller checks their meaning.
#pragma once

#include <protocol/client_generated.h>

#include "daemon/control/messages.h"

namespace pace::daemon {

inline control::JobOptions options_of(const protocol::client::JobOptions& table) {
    control::JobOptions options;
    options.name = table.name()->str();
    options.world = table.world();
    options.policy = static_cast<control::Policy>(table.policy());
    options.group_size = table.group_size();
    options.group_min = table.group_min();
    options.weights = static_cast<control::Weights>(table.weights());
    options.missing = static_cast<control::Missing>(table.missing());
    options.alpha = table.alpha();
    options.group_wait_ms = table.group_wait_ms();
    options.history_window = table.history_window();
    options.worker_timeout_ms = table.worker_timeout_ms();
    return options;
}

inline flatbuffers::Offset<protocol::client::JobOptions> pack_options(
    flatbuffers::FlatBufferBuilder& builder, const control::JobOptions& options) {
    return protocol::client::CreateJobOptionsDirect(
        builder, options.name.c_str(), options.world,
        static_cast<protocol::client::Policy>(options.policy), options.group_size,
        options.group_min, static_cast<protocol::client::Weights>(options.weights),
        static_cast<protocol::client::Missing>(options.missing), options.alpha,
        options.group_wait_ms, options.history_window, options.worker_timeout_ms);
}

}  // namespace pace::daemon
