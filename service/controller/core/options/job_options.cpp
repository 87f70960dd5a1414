#include "service/controller/core/options/job_options.h"

#include <algorithm>
#include <utility>

#include "protocol/options/limits.h"
#include "protocol/options/names.h"
#include "service/controller/core/options/collective_options.h"
#include "service/controller/core/options/communication_graph.h"
#include "service/controller/core/serving/server_options.h"

namespace pace::controller {
namespace {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using protocol::GroupSize;
using protocol::PolicyRow;

constexpr uint32_t kGroupSizeDefault = 3;
constexpr uint64_t kWindowEdgesMax = uint64_t{1} << 22U;  // of the sync-graph: some 200 MB

Result<> check_world(uint32_t world) {
    if (world >= 1 && world <= protocol::kWorldMax) return {};
    return make_error(ErrorKind::invalid, "world is {}; give the number of workers, 1 to {}", world,
                      protocol::kWorldMax);
}

uint64_t window_min(const JobOptions& o) {
    return (uint64_t{o.world} - 1 + o.group_size - 2) / (o.group_size - 1);
}

Result<> check_min_workers(const JobOptions& o) {
    if (o.min_workers <= o.world) return {};
    return make_error(ErrorKind::invalid,
                      "run.min_workers is {}; use 1 to world, which is {}: more can never be there",
                      o.min_workers, o.world);
}

// In a world of one the only worker gets its own model back: any small group size works.
uint32_t usual_size(const JobOptions& o, const PolicyRow& policy) {
    if (policy.group_size == GroupSize::two) return 2;
    const uint32_t most = std::max(o.world, 2U);
    return policy.group_size == GroupSize::world ? most : std::min(kGroupSizeDefault, most);
}

Result<> check_sizes(const JobOptions& o, const PolicyRow& policy) {
    const uint32_t most = std::max(o.world, 2U);
    if (o.group_size < 2 || o.group_size > most) {
        return make_error(ErrorKind::invalid,
                          "group.size is {}; use 2 to world, which is {}: a group of one averages "
                          "nothing, a larger one never fills",
                          o.group_size, o.world);
    }
    if (policy.group_size != GroupSize::asked && o.group_size != usual_size(o, policy)) {
        return make_error(ErrorKind::invalid,
                          "group.size is {}, but policy {} has groups of {}; leave it out",
                          o.group_size, policy.word, usual_size(o, policy));
    }
    if ((policy.takes & protocol::kTakesGroupWait) != 0 && o.group_min > o.group_size) {
        return make_error(ErrorKind::invalid, "group.min is {}; use 2 to group.size, which is {}",
                          o.group_min, o.group_size);
    }
    return {};
}

Result<> check_window(const JobOptions& o) {
    if (o.history_window < window_min(o)) {
        return make_error(ErrorKind::invalid,
                          "group.window is {}; use at least {}, the fewest groups of {} that can "
                          "connect {} workers, or leave it out for twice that",
                          o.history_window, window_min(o), o.group_size, o.world);
    }
    if (uint64_t{o.history_window} * (o.group_size - 1) > kWindowEdgesMax) {
        return make_error(ErrorKind::invalid,
                          "group.window is {}; use at most {} with group.size {}, or leave it out "
                          "for the default",
                          o.history_window, kWindowEdgesMax / (o.group_size - 1), o.group_size);
    }
    return {};
}

// Fills in sizes that follow from others if they are not given.
Result<> settle_groups(JobOptions& o, const PolicyRow& policy) {
    if (o.group_size == 0) o.group_size = usual_size(o, policy);
    PACE_TRY(check_sizes(o, policy));
    if (o.history_window == 0)
        o.history_window = static_cast<uint32_t>(std::max<uint64_t>(1, 2 * window_min(o)));
    return check_window(o);
}

}  // namespace

Result<JobOptions> check(const AskedOptions& asked) {
    PACE_TRY(protocol::check_job_name(asked.name));
    PACE_TRY(check_world(asked.world));
    PACE_TRY_ASSIGN(options, protocol::read_options(asked));
    PACE_TRY(check_min_workers(options));
    const PolicyRow& policy = *protocol::find(options.policy);
    if (!options.edges.empty()) {
        PACE_TRY_ASSIGN(edges, check_edges(options.edges, options.world));
        options.edges = std::move(edges);
    }
    if (policy.family == Family::collective) PACE_TRY(check_collective(options));
    if (policy.family == Family::server) PACE_TRY(settle_server(options));
    if ((policy.takes & protocol::kTakesGroupSize) != 0) PACE_TRY(settle_groups(options, policy));
    return std::move(options);
}

JobOptions with_shape(JobOptions options, Policy policy, uint32_t group_size) {
    options.policy = policy;
    const bool is_free = protocol::find(policy)->group_size == GroupSize::asked;
    options.group_size = is_free ? group_size : 0;
    const Result<JobOptions> checked = check(options);
    return checked ? *checked : options;
}

std::string differences(const JobOptions& asked, const JobOptions& of_job) {
    std::string text = protocol::differences_of(asked, of_job);
    if (asked.edges != of_job.edges)
        text += fmt::format("{}group.edges {}", text.empty() ? "" : ", ",
                            edge_differences(asked.edges, of_job.edges));
    return text;
}

}  // namespace pace::controller
