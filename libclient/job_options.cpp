#include "libclient/job_options.h"

#include <algorithm>

#include "protocol/types.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

Result<> check_name(const std::string& name) {
    if (name.empty())
        return make_error(ErrorKind::invalid,
                          "name is empty; give the job a name that all of its "
                          "workers use");
    if (name.size() > protocol::kNameBytesMax)
        return make_error(ErrorKind::invalid, "name has {} characters; at most {} are allowed",
                          name.size(), protocol::kNameBytesMax);
    if (!std::all_of(name.begin(), name.end(), is_name_character))
        return make_error(ErrorKind::invalid,
                          "name is \"{}\"; use letters, digits, '.', '_' and '-' only", name);
    return {};
}

}  // namespace

Result<> check(const JobOptions& options) {
    PACE_TRY(check_name(options.name));
    if (options.world == 0 || options.world > protocol::kWorldMax)
        return make_error(ErrorKind::invalid,
                          "world is {}; give the number of workers of the job, 1 to {}",
                          options.world, protocol::kWorldMax);
    // Written so that NaN is refused too.
    if (options.alpha != kAlphaNotGiven && !(options.alpha >= 0.0 && options.alpha < 1.0))
        return make_error(ErrorKind::invalid, "alpha is {}; it must be at least 0 and less than 1",
                          options.alpha);
    if (!(options.density >= 0.0 && options.density <= 1.0))
        return make_error(ErrorKind::invalid,
                          "density is {}; it must be above 0 and at most 1, or 0 for the default",
                          options.density);
    return {};
}

flatbuffers::Offset<protocol::client::JobOptions> pack(flatbuffers::FlatBufferBuilder& builder,
                                                       const JobOptions& options) {
    return protocol::client::CreateJobOptionsDirect(
        builder, options.name.c_str(), options.world, options.policy, options.group_size,
        options.group_min, options.weights, options.missing, options.alpha, options.group_wait_ms,
        options.history_window, options.worker_timeout_ms, options.quorum, options.quorum_count,
        options.late, options.staleness_max, options.divide_by, options.resync_every,
        options.compression, options.density, options.residuals, options.teams, options.team_gather,
        options.indices, options.values, options.hierarchy, options.dense_fallback,
        options.reject_nonfinite, options.progress_gap,
        options.edges.empty() ? nullptr : &options.edges, options.elements, options.rate,
        options.constant_rate, options.filter, options.shards, options.checkpoint_every_ms,
        options.checkpoint_copies, options.restore, options.unsynchronized);
}

}  // namespace pace::client
