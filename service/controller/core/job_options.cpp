#include "service/controller/core/job_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "service/controller/core/collective_options.h"
#include "service/controller/core/communication_graph.h"
#include "service/controller/core/option_words.h"
#include "service/controller/core/server_options.h"

namespace pace::controller {
namespace {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

constexpr size_t kNameBytesMax = 63;
constexpr uint32_t kWorldMax = 65536;
constexpr uint32_t kGroupSizeDefault = 3;
constexpr uint32_t kGroupMinDefault = 2;
constexpr uint32_t kProgressGapDefault = 4;
constexpr double kAlphaDefault = 0.5;
constexpr uint64_t kWindowEdgesMax = uint64_t{1} << 22U;  // of the sync-graph: some 200 MB

bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

Result<> check_name(const std::string& name) {
    if (name.empty()) {
        return make_error(ErrorKind::invalid, "name is empty; give the job a name");
    }
    if (name.size() > kNameBytesMax) {
        return make_error(ErrorKind::invalid, "name has {} bytes; use at most {}", name.size(),
                          kNameBytesMax);
    }
    if (!std::all_of(name.begin(), name.end(), is_name_byte)) {
        // The name is not repeated: it may hold anything.
        return make_error(
            ErrorKind::invalid,
            "name has a byte that is not allowed; use letters, digits, '.', '_' and '-'");
    }
    if (name == "." || name == "..") {
        return make_error(ErrorKind::invalid, "name is {}, as a folder's; give the job another",
                          name);
    }
    return {};
}

Result<> check_world(uint32_t world) {
    if (world >= 1 && world <= kWorldMax) return {};
    return make_error(ErrorKind::invalid, "world is {}; give the number of workers, 1 to {}", world,
                      kWorldMax);
}

Result<> check_enums(const JobOptions& o) {
    if (name_of(o.policy) == "?") {
        return make_error(ErrorKind::invalid, "policy is {}; use one of {}",
                          static_cast<int>(o.policy), numbered(words_of(o.policy)));
    }
    if (static_cast<uint8_t>(o.weights) > static_cast<uint8_t>(Weights::dynamic)) {
        return make_error(ErrorKind::invalid, "weights is {}; use constant (1) or dynamic (2)",
                          static_cast<int>(o.weights));
    }
    if (static_cast<uint8_t>(o.missing) > static_cast<uint8_t>(Missing::initial)) {
        return make_error(ErrorKind::invalid, "missing is {}; use closest (1) or initial (2)",
                          static_cast<int>(o.missing));
    }
    return {};
}

// An option of groups, in a job that does not form them by any, is a misunderstanding.
Result<> check_no_group_options(const JobOptions& o, std::string_view because, Policy instead) {
    const auto refuse = [&](std::string_view option, auto value) {
        return make_error(ErrorKind::invalid, "{} is {}, but {}; leave it out or use policy {}",
                          option, value, because, name_of(instead));
    };
    if (o.group_size != 0) return refuse("group_size", o.group_size);
    if (o.group_min != 0) return refuse("group_min", o.group_min);
    if (o.group_wait_ms != 0) return refuse("group_wait_ms", o.group_wait_ms);
    if (o.history_window != 0) return refuse("history_window", o.history_window);
    if (o.weights == Weights::dynamic) return refuse("weights", name_of(o.weights));
    if (o.missing == Missing::initial) return refuse("missing", name_of(o.missing));
    if (o.alpha != kAlphaNotGiven) return refuse("alpha", o.alpha);
    return {};
}

// Only partial reduce closes groups that are not full, only prague-smart knows who is slow, and only ad-psgd who may meet.
Result<> check_policy_options(const JobOptions& o) {
    const auto refuse = [&o](std::string_view option, uint32_t value, Policy policy) {
        return make_error(ErrorKind::invalid,
                          "{} is {}, but policy {} does not know it; leave it out or use policy {}",
                          option, value, name_of(o.policy), name_of(policy));
    };
    if (o.policy != Policy::partial_reduce) {
        if (o.group_min != 0) return refuse("group_min", o.group_min, Policy::partial_reduce);
        if (o.group_wait_ms != 0)
            return refuse("group_wait_ms", o.group_wait_ms, Policy::partial_reduce);
    }
    if (o.policy != Policy::prague_smart && o.progress_gap != 0)
        return refuse("progress_gap", o.progress_gap, Policy::prague_smart);
    if (o.policy != Policy::ad_psgd && !o.edges.empty())
        return make_error(ErrorKind::invalid,
                          "edges are given, but policy {} does not know a communication graph; "
                          "leave them out or use policy {}",
                          name_of(o.policy), name_of(Policy::ad_psgd));
    return {};
}

// What policy auto chooses is not to be given.
Result<> check_no_shape(const JobOptions& o) {
    const auto refuse = [](std::string_view option, uint32_t value) {
        return make_error(ErrorKind::invalid,
                          "{} is {}, but policy auto chooses it; leave it out or use policy {}",
                          option, value, name_of(Policy::partial_reduce));
    };
    if (o.group_size != 0) return refuse("group_size", o.group_size);
    if (o.history_window != 0) return refuse("history_window", o.history_window);
    return {};
}

uint64_t window_min(const JobOptions& o) {
    return (uint64_t{o.world} - 1 + o.group_size - 2) / (o.group_size - 1);
}

uint32_t usual_size(const JobOptions& o) {
    if (o.policy == Policy::ad_psgd) return 2;
    return o.policy == Policy::full ? o.world : kGroupSizeDefault;
}

Result<> check_sizes(const JobOptions& o) {
    // In a world of one the only worker gets its own model back: any small group size will do.
    const uint32_t most = std::max(o.world, 2U);
    if (o.group_size < 2 || o.group_size > most) {
        return make_error(ErrorKind::invalid,
                          "group_size is {}; use 2 to world, which is {}: a group of one averages "
                          "nothing, a larger one never fills",
                          o.group_size, o.world);
    }
    const bool is_fixed = o.policy == Policy::ad_psgd || o.policy == Policy::full;
    if (is_fixed && o.group_size != std::max(2U, usual_size(o))) {
        return make_error(ErrorKind::invalid,
                          "group_size is {}, but policy {} has groups of {}; leave it out",
                          o.group_size, name_of(o.policy), usual_size(o));
    }
    if (o.policy != Policy::partial_reduce) return {};
    if (o.group_min < 2 || o.group_min > o.group_size) {
        return make_error(ErrorKind::invalid, "group_min is {}; use 2 to group_size, which is {}",
                          o.group_min, o.group_size);
    }
    return {};
}

Result<> check_alpha(double alpha) {
    if (alpha == kAlphaNotGiven) return {};
    if (std::isfinite(alpha) && alpha >= 0 && alpha < 1) return {};
    return make_error(ErrorKind::invalid,
                      "alpha is {}; use a number from 0 up to, not including, 1", alpha);
}

// Constant weights know no versions, so that an option about them is a misunderstanding.
Result<> check_no_version_options(const JobOptions& o) {
    const auto refuse = [](std::string_view option, auto value) {
        return make_error(ErrorKind::invalid,
                          "{} is {}, but constant weights do not look at iterations; leave it out "
                          "or use weights dynamic",
                          option, value);
    };
    if (o.missing == Missing::initial) return refuse("missing", name_of(o.missing));
    if (o.alpha != kAlphaNotGiven) return refuse("alpha", o.alpha);
    return {};
}

Result<> check_window(const JobOptions& o) {
    if (o.history_window < window_min(o)) {
        return make_error(ErrorKind::invalid,
                          "history_window is {}; use at least {}, the fewest groups of {} that can "
                          "connect {} workers, or 0 for twice that",
                          o.history_window, window_min(o), o.group_size, o.world);
    }
    if (uint64_t{o.history_window} * (o.group_size - 1) > kWindowEdgesMax) {
        return make_error(
            ErrorKind::invalid,
            "history_window is {}; use at most {} with group_size {}, or 0 for the default",
            o.history_window, kWindowEdgesMax / (o.group_size - 1), o.group_size);
    }
    return {};
}

void fill_defaults(JobOptions& o) {
    if (o.weights == Weights{}) o.weights = Weights::constant;
    if (o.missing == Missing{}) o.missing = Missing::closest;
    fill_collective_defaults(o);
    fill_server_defaults(o);
    if (!forms_groups(o.policy)) return;
    if (o.weights == Weights::dynamic && o.alpha == kAlphaNotGiven) o.alpha = kAlphaDefault;
    if (o.policy == Policy::automatic) return;
    if (o.group_size == 0) o.group_size = std::max(2U, std::min(usual_size(o), o.world));
    if (o.group_min == 0 && o.policy == Policy::partial_reduce) o.group_min = kGroupMinDefault;
    if (o.progress_gap == 0 && o.policy == Policy::prague_smart)
        o.progress_gap = kProgressGapDefault;
}

}  // namespace

Result<JobOptions> check(const JobOptions& options) {
    JobOptions filled = options;
    if (filled.policy == Policy{}) filled.policy = Policy::partial_reduce;
    PACE_TRY(check_name(filled.name));
    PACE_TRY(check_world(filled.world));
    PACE_TRY(check_enums(filled));
    PACE_TRY(check_collective(filled));
    PACE_TRY(check_server(filled));
    PACE_TRY(check_policy_options(filled));
    PACE_TRY_ASSIGN(edges, check_edges(filled.edges, filled.world));
    filled.edges = std::move(edges);
    if (filled.policy == Policy::all_reduce)
        PACE_TRY(check_no_group_options(filled, "the all-reduce policy forms no groups",
                                        Policy::partial_reduce));
    if (family_of(filled.policy) == Family::server)
        PACE_TRY(check_no_group_options(filled, "a parameter server forms no groups",
                                        Policy::partial_reduce));
    if (filled.policy == Policy::automatic) PACE_TRY(check_no_shape(filled));
    if (filled.policy == Policy::prague_static)
        PACE_TRY(check_no_group_options(filled,
                                        "the groups of policy prague-static follow from the nodes "
                                        "that workers are on, with constant weights",
                                        Policy::prague_smart));
    fill_defaults(filled);
    if (!forms_groups(filled.policy)) return filled;
    PACE_TRY(check_alpha(filled.alpha));
    if (filled.weights == Weights::constant) PACE_TRY(check_no_version_options(filled));
    if (filled.policy == Policy::automatic) return filled;
    PACE_TRY(check_sizes(filled));
    if (filled.history_window == 0) {
        filled.history_window =
            static_cast<uint32_t>(std::max<uint64_t>(1, 2 * window_min(filled)));
    }
    PACE_TRY(check_window(filled));
    return filled;
}

JobOptions with_shape(JobOptions options, Policy policy, uint32_t group_size) {
    options.policy = policy;
    options.group_size = policy == Policy::full ? 0 : group_size;
    const Result<JobOptions> checked = check(options);
    return checked ? *checked : options;
}

std::string differences(const JobOptions& asked, const JobOptions& of_job) {
    std::string text;
    const auto compare = [&](std::string_view option, const auto& ours, const auto& theirs) {
        if (ours == theirs) return;
        text +=
            fmt::format("{}{} {} (the job has {})", text.empty() ? "" : ", ", option, ours, theirs);
    };
    compare("world", asked.world, of_job.world);
    compare("policy", name_of(asked.policy), name_of(of_job.policy));
    compare("group_size", asked.group_size, of_job.group_size);
    compare("group_min", asked.group_min, of_job.group_min);
    compare("weights", name_of(asked.weights), name_of(of_job.weights));
    compare("missing", name_of(asked.missing), name_of(of_job.missing));
    // Where weights are constant there is none, and weights then tell the difference.
    if (asked.alpha != kAlphaNotGiven && of_job.alpha != kAlphaNotGiven)
        compare("alpha", asked.alpha, of_job.alpha);
    compare("group_wait_ms", asked.group_wait_ms, of_job.group_wait_ms);
    compare("history_window", asked.history_window, of_job.history_window);
    compare("progress_gap", asked.progress_gap, of_job.progress_gap);
    if (asked.edges != of_job.edges)
        text += fmt::format("{}edges {}", text.empty() ? "" : ", ",
                            edge_differences(asked.edges, of_job.edges));
    compare("worker_timeout_ms", asked.worker_timeout_ms, of_job.worker_timeout_ms);
    compare("quorum", name_of(asked.quorum), name_of(of_job.quorum));
    compare("quorum_count", asked.quorum_count, of_job.quorum_count);
    compare("late", name_of(asked.late), name_of(of_job.late));
    compare("staleness_max", asked.staleness_max, of_job.staleness_max);
    compare("divide_by", name_of(asked.divide_by), name_of(of_job.divide_by));
    compare("resync_every", asked.resync_every, of_job.resync_every);
    compare("compression", name_of(asked.compression), name_of(of_job.compression));
    compare("density", asked.density, of_job.density);
    compare("residuals", name_of(asked.residuals), name_of(of_job.residuals));
    compare("teams", asked.teams, of_job.teams);
    compare("team_gather", name_of(asked.team_gather), name_of(of_job.team_gather));
    compare("indices", name_of(asked.indices), name_of(of_job.indices));
    compare("values", name_of(asked.values), name_of(of_job.values));
    compare("hierarchy", name_of(asked.hierarchy), name_of(of_job.hierarchy));
    compare("dense_fallback", name_of(asked.dense_fallback), name_of(of_job.dense_fallback));
    compare("reject_nonfinite", asked.reject_nonfinite, of_job.reject_nonfinite);
    compare("elements", asked.elements, of_job.elements);
    compare("rate", name_of(asked.rate), name_of(of_job.rate));
    compare("constant_rate", asked.constant_rate, of_job.constant_rate);
    compare("filter", asked.filter, of_job.filter);
    compare("shards", asked.shards, of_job.shards);
    compare("checkpoint_every_ms", asked.checkpoint_every_ms, of_job.checkpoint_every_ms);
    compare("checkpoint_copies", asked.checkpoint_copies, of_job.checkpoint_copies);
    compare("restore", asked.restore, of_job.restore);
    compare("unsynchronized", asked.unsynchronized, of_job.unsynchronized);
    return text;
}

}  // namespace pace::controller
