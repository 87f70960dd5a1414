#include "daemon/clients/options.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

TEST(ClientOptions, ComeBackAsTheyWere) {
    control::JobOptions options;
    options.name = "fashion";
    options.world = 8;
    options.policy = control::Policy::all_reduce;
    options.group_size = 3;
    options.group_min = 2;
    options.weights = control::Weights::dynamic;
    options.missing = control::Missing::initial;
    options.alpha = 0.75;
    options.group_wait_ms = 4;
    options.history_window = 5;
    options.worker_timeout_ms = 6;
    options.quorum = control::Quorum::count;
    options.quorum_count = 7;
    options.late = control::Late::drop;
    options.staleness_max = 9;
    options.divide_by = control::DivideBy::contributors;
    options.resync_every = 10;
    options.compression = control::Compression::oktopk;
    options.density = 0.125;
    options.residuals = control::Residuals::local;
    options.teams = 11;
    options.team_gather = control::TeamGather::recursive;
    options.indices = control::Indices::plain;
    options.values = control::Values::bf16;
    options.hierarchy = control::Hierarchy::flat;
    options.dense_fallback = control::DenseFallback::never;
    options.reject_nonfinite = true;
    options.progress_gap = 9;
    options.edges = {0, 1, 1, 7};
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(pack_options(builder, options));
    const auto* table =
        flatbuffers::GetRoot<protocol::client::JobOptions>(builder.GetBufferPointer());
    EXPECT_EQ(options_of(*table), options);
}

}  // namespace
}  // namespace pace::daemon
