#include "job_options.h"

#include <string_view>
#include <utility>

namespace demo {
namespace {

// The constant of a word of the command line, which has been checked to be one of these.
int32_t constant_of(std::string_view word,
                    std::initializer_list<std::pair<std::string_view, int32_t>> constants) {
    for (const auto& [name, constant] : constants)
        if (name == word) return constant;
    return 0;  // pace.h's default
}

void set_groups(const Options& options, pace_job_options* job) {
    job->group_size = options.group_size;
    if (options.weights != "dynamic") return;
    job->weights = PACE_WEIGHTS_DYNAMIC;
    job->alpha = options.alpha;
    job->has_alpha = 1;
    job->missing = options.missing == "initial" ? PACE_MISSING_INITIAL : PACE_MISSING_CLOSEST;
}

void set_quorum(const Options& options, pace_job_options* job) {
    job->quorum = constant_of(options.quorum, {{"all", PACE_QUORUM_ALL},
                                               {"solo", PACE_QUORUM_SOLO},
                                               {"majority", PACE_QUORUM_MAJORITY},
                                               {"majority-strict", PACE_QUORUM_MAJORITY_STRICT},
                                               {"count", PACE_QUORUM_COUNT}});
    if (options.waits_for_all()) return;
    job->quorum_count = options.quorum_count;
    job->late =
        constant_of(options.late, {{"accumulate", PACE_LATE_ACCUMULATE}, {"drop", PACE_LATE_DROP}});
    job->divide_by = constant_of(
        options.divide_by,
        {{"world", PACE_DIVIDE_BY_WORLD}, {"contributors", PACE_DIVIDE_BY_CONTRIBUTORS}});
    job->staleness_max = options.staleness_max;
    job->resync_every = options.resync_every;
}

void set_compression(const Options& options, pace_job_options* job) {
    if (options.compression == "none") return;
    job->compression = constant_of(options.compression, {{"spardl", PACE_COMPRESSION_SPARDL}});
    job->residuals = constant_of(options.residuals, {{"global", PACE_RESIDUALS_GLOBAL},
                                                     {"partial", PACE_RESIDUALS_PARTIAL},
                                                     {"local", PACE_RESIDUALS_LOCAL}});
    job->density = options.density;
    job->teams = options.teams;
    job->dense_fallback = constant_of(
        options.dense_fallback,
        {{"automatic", PACE_DENSE_FALLBACK_AUTOMATIC}, {"never", PACE_DENSE_FALLBACK_NEVER}});
}

}  // namespace

pace_job_options job_options_of(const Options& options) {
    pace_job_options job = PACE_JOB_OPTIONS_INIT;
    job.name = options.job.c_str();
    job.rank = options.rank;
    job.world = options.world;
    if (options.is_all_reduce()) {
        job.policy = PACE_POLICY_ALL_REDUCE;
        set_quorum(options, &job);
        set_compression(options, &job);
    } else {
        job.policy = constant_of(options.policy, {{"partial-reduce", PACE_POLICY_PARTIAL_REDUCE},
                                                  {"prague-random", PACE_POLICY_PRAGUE_RANDOM},
                                                  {"prague-smart", PACE_POLICY_PRAGUE_SMART},
                                                  {"ad-psgd", PACE_POLICY_AD_PSGD},
                                                  {"full", PACE_POLICY_FULL},
                                                  {"prague-static", PACE_POLICY_PRAGUE_STATIC},
                                                  {"auto", PACE_POLICY_AUTO}});
        set_groups(options, &job);
    }
    return job;
}

}  // namespace demo
