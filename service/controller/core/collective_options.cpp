#include "service/controller/core/collective_options.h"

#include "service/controller/core/option_checks.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

constexpr uint32_t kStalenessMaxDefault = 32;
constexpr double kDensityDefault = 0.01;

// ------------------------------------------------------------------------------------------ choices

Result<> check_choices(const JobOptions& o) {
    PACE_TRY(check_choice("quorum", o.quorum));
    PACE_TRY(check_choice("late", o.late));
    PACE_TRY(check_choice("divide_by", o.divide_by));
    PACE_TRY(check_choice("compression", o.compression));
    PACE_TRY(check_choice("residuals", o.residuals));
    PACE_TRY(check_choice("team_gather", o.team_gather));
    PACE_TRY(check_choice("indices", o.indices));
    PACE_TRY(check_choice("values", o.values));
    PACE_TRY(check_choice("hierarchy", o.hierarchy));
    return check_choice("dense_fallback", o.dense_fallback);
}

// ------------------------------------------------------------------------------------------- quorum

Unwanted& no_lateness_options(Unwanted& unwanted, const JobOptions& o) {
    return unwanted.choice("late", o.late, Late::accumulate)
        .number("staleness_max", o.staleness_max)
        .choice("divide_by", o.divide_by, DivideBy::world);
}

Result<> check_quorum(const JobOptions& o) {
    if (o.quorum != Quorum::count) {
        PACE_TRY(Unwanted("which counts with quorum count only; leave it out or use quorum count")
                     .number("quorum_count", o.quorum_count)
                     .result());
    } else if (o.quorum_count == 0 || o.quorum_count > o.world) {
        return make_error(ErrorKind::invalid, "quorum_count is {}; use 1 to world, which is {}",
                          o.quorum_count, o.world);
    }
    if (is_partial(o)) return {};
    Unwanted unwanted(
        "but with quorum all every round waits for everyone and nobody is late; leave it out or "
        "use another quorum");
    return no_lateness_options(unwanted, o).result();
}

// -------------------------------------------------------------------------------------- compression

Unwanted& no_team_options(Unwanted& unwanted, const JobOptions& o) {
    return unwanted.number("teams", o.teams)
        .choice("team_gather", o.team_gather, TeamGather::automatic);
}

Unwanted& no_top_k_options(Unwanted& unwanted, const JobOptions& o) {
    return unwanted.number("density", o.density)
        .choice("residuals", o.residuals, Residuals::global)
        .choice("indices", o.indices, Indices::compressed)
        .choice("values", o.values, Values::f32)
        .choice("hierarchy", o.hierarchy, Hierarchy::node)
        .choice("dense_fallback", o.dense_fallback, DenseFallback::automatic);
}

Result<> check_teams(const JobOptions& o) {
    if (o.compression != Compression::spardl) {
        Unwanted unwanted("but only SparDL works in teams; leave it out or use compression spardl");
        return no_team_options(unwanted, o).result();
    }
    if (o.teams > o.world)
        return make_error(ErrorKind::invalid,
                          "teams is {}; use 1 to world, which is {}, or 0 to have it chosen",
                          o.teams, o.world);
    if (o.hierarchy == Hierarchy::flat && o.teams != 0 && o.world % o.teams != 0)
        return make_error(
            ErrorKind::invalid,
            "teams is {}; with hierarchy flat use a divisor of world, which is {}, or "
            "0 to have it chosen",
            o.teams, o.world);
    return {};
}

Result<> check_density(double density) {
    // Written so that NaN is refused too.
    if (density >= 0 && density <= 1) return {};
    return make_error(ErrorKind::invalid,
                      "density is {}; use a number above 0 and at most 1, or 0 for the default",
                      density);
}

Result<> check_compression(const JobOptions& o) {
    PACE_TRY(check_density(o.density));
    PACE_TRY(check_teams(o));
    if (!is_top_k(o.compression)) {
        Unwanted unwanted(
            "but without a top-k compression every element travels; leave it out or use "
            "compression spardl, topka, topkdsa, gtopk or oktopk");
        PACE_TRY(no_top_k_options(unwanted, o).result());
    }
    if (is_partial(o) && is_compressed(o.compression))
        return make_error(ErrorKind::invalid,
                          "compression is {} and quorum is {}, which are not supported together "
                          "yet: use quorum all or compression none",
                          name_of(o.compression), name_of(o.quorum));
    return {};
}

// A job that averages in groups has no rounds of gradients.
Result<> check_no_collective_options(const JobOptions& o) {
    Unwanted unwanted(
        "but it is for gradients, and the job's policy is another one; leave it out or use policy "
        "all-reduce");
    unwanted.choice("quorum", o.quorum, Quorum::all)
        .number("quorum_count", o.quorum_count)
        .number("resync_every", o.resync_every)
        .choice("compression", o.compression, Compression::off)
        .number("reject_nonfinite", o.reject_nonfinite);
    unwanted.choice("late", o.late, Late::accumulate)
        .choice("divide_by", o.divide_by, DivideBy::world);
    // With policy ssp it bounds something else.
    if (o.policy != Policy::ssp) unwanted.number("staleness_max", o.staleness_max);
    no_team_options(unwanted, o);
    return no_top_k_options(unwanted, o).result();
}

}  // namespace

Result<> check_collective(const JobOptions& options) {
    PACE_TRY(check_choices(options));
    if (family_of(options.policy) != Family::collective)
        return check_no_collective_options(options);
    PACE_TRY(check_quorum(options));
    return check_compression(options);
}

void fill_collective_defaults(JobOptions& o) {
    fill(o.quorum, Quorum::all);
    fill(o.late, Late::accumulate);
    fill(o.divide_by, DivideBy::world);
    fill(o.compression, Compression::off);
    fill(o.residuals, Residuals::global);
    fill(o.team_gather, TeamGather::automatic);
    fill(o.indices, Indices::compressed);
    fill(o.values, Values::f32);
    fill(o.hierarchy, Hierarchy::node);
    fill(o.dense_fallback, DenseFallback::automatic);
    if (is_partial(o) && o.staleness_max == 0) o.staleness_max = kStalenessMaxDefault;
    if (is_top_k(o.compression) && o.density == 0) o.density = kDensityDefault;
}

}  // namespace pace::controller
