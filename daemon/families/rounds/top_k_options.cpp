#include "daemon/families/rounds/top_k_options.h"

#include <algorithm>

namespace pace::daemon {

namespace {

sparse::Algorithm algorithm_of(control::Compression compression) {
    switch (compression) {
        case control::Compression::topka:
            return sparse::Algorithm::topk_a;
        case control::Compression::topkdsa:
            return sparse::Algorithm::topk_dsa;
        case control::Compression::gtopk:
            return sparse::Algorithm::g_topk;
        case control::Compression::oktopk:
            return sparse::Algorithm::ok_topk;
        default:
            return sparse::Algorithm::spar_dl;
    }
}

sparse::ValueFormat value_format_of(control::Values values) {
    switch (values) {
        case control::Values::f16:
            return sparse::ValueFormat::f16;
        case control::Values::bf16:
            return sparse::ValueFormat::bf16;
        default:
            return sparse::ValueFormat::f32;
    }
}

sparse::ResidualMode residual_mode_of(control::Residuals residuals) {
    switch (residuals) {
        case control::Residuals::partial:
            return sparse::ResidualMode::partial;
        case control::Residuals::local:
            return sparse::ResidualMode::local;
        default:
            return sparse::ResidualMode::global;
    }
}

sparse::TeamGather gather_of(control::TeamGather gather) {
    switch (gather) {
        case control::TeamGather::recursive:
            return sparse::TeamGather::recursive;
        case control::TeamGather::bruck:
            return sparse::TeamGather::bruck;
        default:
            return sparse::TeamGather::automatic;
    }
}

}  // namespace

sparse::Options top_k_options(const control::JobOptions& job) {
    sparse::Options options;
    options.algorithm = algorithm_of(job.compression);
    options.density = job.density;
    options.format.index = job.indices == control::Indices::plain ? sparse::IndexFormat::plain
                                                                  : sparse::IndexFormat::elias_fano;
    options.format.value = value_format_of(job.values);
    options.residuals = residual_mode_of(job.residuals);
    options.gather = gather_of(job.team_gather);
    options.teams = job.teams;
    return options;
}

size_t teams_for(size_t participants, size_t wanted, sparse::TeamGather gather) {
    for (size_t teams = std::min(wanted, participants); teams > 1; --teams) {
        const bool power_of_two = (teams & (teams - 1)) == 0;
        if (participants % teams == 0 && (power_of_two || gather != sparse::TeamGather::recursive))
            return teams;
    }
    return 1;
}

}  // namespace pace::daemon
