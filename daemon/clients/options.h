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
    options.quorum = static_cast<control::Quorum>(table.quorum());
    options.quorum_count = table.quorum_count();
    options.late = static_cast<control::Late>(table.late());
    options.staleness_max = table.staleness_max();
    options.divide_by = static_cast<control::DivideBy>(table.divide_by());
    options.resync_every = table.resync_every();
    options.compression = static_cast<control::Compression>(table.compression());
    options.density = table.density();
    options.residuals = static_cast<control::Residuals>(table.residuals());
    options.teams = table.teams();
    options.team_gather = static_cast<control::TeamGather>(table.team_gather());
    options.indices = static_cast<control::Indices>(table.indices());
    options.values = static_cast<control::Values>(table.values());
    options.hierarchy = static_cast<control::Hierarchy>(table.hierarchy());
    options.dense_fallback = static_cast<control::DenseFallback>(table.dense_fallback());
    options.reject_nonfinite = table.reject_nonfinite();
    options.progress_gap = table.progress_gap();
    if (table.edges() != nullptr)
        options.edges.assign(table.edges()->begin(), table.edges()->end());
    options.elements = table.elements();
    options.rate = static_cast<control::Rate>(table.rate());
    options.constant_rate = table.constant_rate();
    options.filter = table.filter();
    options.shards = table.shards();
    options.checkpoint_every_ms = table.checkpoint_every_ms();
    options.checkpoint_copies = table.checkpoint_copies();
    options.restore = table.restore();
    options.unsynchronized = table.unsynchronized();
    return options;
}

inline flatbuffers::Offset<protocol::client::JobOptions> pack_options(
    flatbuffers::FlatBufferBuilder& builder, const control::JobOptions& options) {
    return protocol::client::CreateJobOptionsDirect(
        builder, options.name.c_str(), options.world,
        static_cast<protocol::client::Policy>(options.policy), options.group_size,
        options.group_min, static_cast<protocol::client::Weights>(options.weights),
        static_cast<protocol::client::Missing>(options.missing), options.alpha,
        options.group_wait_ms, options.history_window, options.worker_timeout_ms,
        static_cast<protocol::client::Quorum>(options.quorum), options.quorum_count,
        static_cast<protocol::client::Late>(options.late), options.staleness_max,
        static_cast<protocol::client::DivideBy>(options.divide_by), options.resync_every,
        static_cast<protocol::client::Compression>(options.compression), options.density,
        static_cast<protocol::client::Residuals>(options.residuals), options.teams,
        static_cast<protocol::client::TeamGather>(options.team_gather),
        static_cast<protocol::client::Indices>(options.indices),
        static_cast<protocol::client::Values>(options.values),
        static_cast<protocol::client::Hierarchy>(options.hierarchy),
        static_cast<protocol::client::DenseFallback>(options.dense_fallback),
        options.reject_nonfinite, options.progress_gap,
        options.edges.empty() ? nullptr : &options.edges, options.elements,
        static_cast<protocol::client::Rate>(options.rate), options.constant_rate, options.filter,
        options.shards, options.checkpoint_every_ms, options.checkpoint_copies, options.restore,
        options.unsynchronized);
}

}  // namespace pace::daemon
