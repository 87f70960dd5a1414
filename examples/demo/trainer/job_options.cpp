#include "job_options.h"

#include <string>

namespace demo {
namespace {

pace_option word(const char* name, const std::string& value) {
    return PACE_OPTION_TEXT(name, value.c_str());
}

}  // namespace

JobOptions::JobOptions(const Options& options) {
    if (options.is_all_reduce()) {
        add_quorum(options);
        add_compression(options);
    } else {
        add_groups(options);
    }
    session_.endpoint = options.endpoint.empty() ? nullptr : options.endpoint.c_str();
    session_.job = options.job.c_str();
    session_.policy = options.policy.c_str();
    session_.rank = options.rank;
    session_.world = options.world;
    session_.options = options_.data();
    session_.option_count = options_.size();
}

void JobOptions::add_groups(const Options& options) {
    if (options.group_size != 0)
        options_.push_back(PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, options.group_size));
    if (options.weights != "dynamic") return;
    options_.push_back(word(PACE_OPT_AVERAGE_WEIGHTS, options.weights));
    options_.push_back(word(PACE_OPT_AVERAGE_MISSING, options.missing));
    options_.push_back(PACE_OPTION_REAL(PACE_OPT_AVERAGE_ALPHA, options.alpha));
}

void JobOptions::add_quorum(const Options& options) {
    if (options.waits_for_all()) return;
    options_.push_back(word(PACE_OPT_QUORUM, options.quorum));
    options_.push_back(word(PACE_OPT_QUORUM_LATE, options.late));
    options_.push_back(word(PACE_OPT_QUORUM_DIVIDE_BY, options.divide_by));
    options_.push_back(PACE_OPTION_INT(PACE_OPT_REDUCE_RESYNC_EVERY, options.resync_every));
    if (options.quorum_count != 0)
        options_.push_back(PACE_OPTION_INT(PACE_OPT_QUORUM_COUNT, options.quorum_count));
    if (options.staleness_max != 0)
        options_.push_back(PACE_OPTION_INT(PACE_OPT_QUORUM_STALENESS_MAX, options.staleness_max));
}

void JobOptions::add_compression(const Options& options) {
    if (options.compression == "none") return;
    options_.push_back(word(PACE_OPT_COMPRESSION, options.compression));
    options_.push_back(word(PACE_OPT_TOPK_RESIDUALS, options.residuals));
    options_.push_back(word(PACE_OPT_TOPK_DENSE_FALLBACK, options.dense_fallback));
    options_.push_back(PACE_OPTION_REAL(PACE_OPT_TOPK_DENSITY, options.density));
    if (options.teams != 0) options_.push_back(PACE_OPTION_INT(PACE_OPT_TOPK_TEAMS, options.teams));
}

}  // namespace demo
