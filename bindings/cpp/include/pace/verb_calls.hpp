// verb_calls: the options of each verb for pace.h.
#pragma once

#include <pace/verb_options.hpp>

#include <vector>

namespace pace {
namespace detail {

template <class Raw, class Options>
void set_call(Raw& raw, const Options& how) noexcept {
    raw.call.iteration = how.iteration;
    raw.call.user_data = how.user_data;
    raw.call.device = how.where;
    raw.call.stream = how.stream;
}

inline pace_average_options raw_of(const average_options& how) noexcept {
    pace_average_options raw = PACE_AVERAGE_OPTIONS_INIT;
    set_call(raw, how);
    raw.order = static_cast<std::int32_t>(how.order);
    raw.keep_local = how.keep_local ? 1 : 0;
    return raw;
}

inline pace_reduce_options raw_of(const reduce_options& how) noexcept {
    pace_reduce_options raw = PACE_REDUCE_OPTIONS_INIT;
    set_call(raw, how);
    raw.op = static_cast<std::int32_t>(how.op);
    return raw;
}

inline pace_broadcast_options raw_of(const broadcast_options& how) noexcept {
    pace_broadcast_options raw = PACE_BROADCAST_OPTIONS_INIT;
    set_call(raw, how);
    raw.root = how.root;
    return raw;
}

inline pace_sync_options raw_of(const sync_options& how) noexcept {
    pace_sync_options raw = PACE_SYNC_OPTIONS_INIT;
    set_call(raw, how);
    return raw;
}

inline pace_push_options raw_of(const push_options& how) noexcept {
    pace_push_options raw = PACE_PUSH_OPTIONS_INIT;
    set_call(raw, how);
    raw.sparse = how.is_sparse ? 1 : 0;
    raw.entries = how.entries;
    raw.first = how.first;
    return raw;
}

inline pace_pull_options raw_of(const pull_options& how) noexcept {
    pace_pull_options raw = PACE_PULL_OPTIONS_INIT;
    set_call(raw, how);
    raw.first = how.first;
    return raw;
}

inline pace_residual_options raw_of(const residual_options& how) noexcept {
    pace_residual_options raw = PACE_RESIDUAL_OPTIONS_INIT;
    set_call(raw, how);
    return raw;
}

// Where results go, for the verbs that can say so.
inline const std::vector<slice>& results_of(const average_options& how) noexcept {
    return how.results;
}
inline const std::vector<slice>& results_of(const reduce_options& how) noexcept {
    return how.results;
}
inline const std::vector<slice>& results_of(const sync_options& how) noexcept {
    return how.results;
}
template <class Options>
span<const slice> results_of(const Options&) noexcept {
    return {};
}

}  // namespace detail
}  // namespace pace
