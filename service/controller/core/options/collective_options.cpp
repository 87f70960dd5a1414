#include "service/controller/core/options/collective_options.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

Result<> check_quorum(const JobOptions& o) {
    if (o.quorum != Quorum::count || (o.quorum_count != 0 && o.quorum_count <= o.world)) return {};
    return make_error(ErrorKind::invalid, "quorum.count is {}; use 1 to world, which is {}",
                      o.quorum_count, o.world);
}

Result<> check_teams(const JobOptions& o) {
    if (o.teams > o.world)
        return make_error(ErrorKind::invalid,
                          "topk.teams is {}; use 1 to world, which is {}, or leave it out to have "
                          "it chosen",
                          o.teams, o.world);
    if (o.hierarchy == Hierarchy::flat && o.teams != 0 && o.world % o.teams != 0)
        return make_error(ErrorKind::invalid,
                          "topk.teams is {}; with topk.hierarchy flat use a divisor of world, "
                          "which is {}, or leave it out to have it chosen",
                          o.teams, o.world);
    return {};
}

}  // namespace

Result<> check_collective(const JobOptions& options) {
    PACE_TRY(check_quorum(options));
    PACE_TRY(check_teams(options));
    if (is_partial(options) && is_compressed(options.compression))
        return make_error(ErrorKind::invalid,
                          "compression is {} and quorum is {}, which are not supported together "
                          "yet: use quorum all or compression none",
                          name_of(options.compression), name_of(options.quorum));
    return {};
}

}  // namespace pace::controller
