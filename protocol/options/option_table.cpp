#include "protocol/options/option_table.h"

#include <limits>

#include "protocol/options/limits.h"
#include "protocol/options/option_field.h"

namespace pace::protocol {
namespace {

constexpr Scope kEveryJob{};
constexpr Scope kAverages{Family::averaging, kTakesWeights};
constexpr Scope kSizedGroups{Family::averaging, kTakesGroupSize};
constexpr Scope kClosedGroups{Family::averaging, kTakesGroupWait};
constexpr Scope kGaps{Family::averaging, kTakesProgressGap};
constexpr Scope kGraphs{Family::averaging, kTakesEdges};
constexpr Scope kGradients{Family::collective};
constexpr Scope kServers{Family::server};
constexpr Scope kStaleServers{Family::server, kTakesStaleness};

constexpr Need kAlways{};
constexpr Need kElastic{[](const JobOptions& options) { return options.min_workers != 0; },
                        "run.min_workers"};
constexpr Need kDynamic{
    [](const JobOptions& options) { return options.weights == Weights::dynamic; },
    "average.weights dynamic"};
constexpr Need kCounted{[](const JobOptions& options) { return options.quorum == Quorum::count; },
                        "quorum count"};
constexpr Need kPartial{[](const JobOptions& options) { return is_partial(options); },
                        "another quorum than all"};
constexpr Need kTopK{[](const JobOptions& options) { return is_top_k(options.compression); },
                     "compression spardl, topka, topkdsa, gtopk or oktopk"};
constexpr Need kTeams{
    [](const JobOptions& options) { return options.compression == Compression::spardl; },
    "compression spardl"};
constexpr Need kConstantRate{
    [](const JobOptions& options) { return options.rate == Rate::constant; },
    "server.rate constant"};

constexpr double kAnyMs = std::numeric_limits<uint32_t>::max();
constexpr double kAnyCount = std::numeric_limits<uint32_t>::max();
constexpr double kElementsMax = 1ULL << 40U;
constexpr double kShardsMax = 4096;
// The greatest number below 1, and the smallest above 0. A bound may be reached, so these stand for
// open bounds.
constexpr double kBelowOne = 1.0 - std::numeric_limits<double>::epsilon() / 2;
constexpr double kAboveZero = std::numeric_limits<double>::min();

constexpr OptionRow kRows[] = {
    {"worker.timeout_ms", field<&JobOptions::worker_timeout_ms>(), kEveryJob, kAlways, 1, kAnyMs,
     "ten of the worker's median steps, at least 30 s",
     "A worker that computes longer than this is suspended when others wait for it."},

    {"run.min_workers", field<&JobOptions::min_workers>(), kEveryJob, kAlways, 1, kWorldMax,
     "world",
     "A run begins without the other workers when this many are there and run.wait_ms has passed. "
     "A worker that comes later is a newcomer: pace_broadcast gives it the current model."},
    {"run.wait_ms", field<&JobOptions::min_workers_wait_ms>(), kEveryJob, kElastic, 0, kAnyMs, "",
     "How long run.min_workers workers wait for the others before the run begins."},

    {"group.size", field<&JobOptions::group_size>(), kSizedGroups, kAlways, 2, kWorldMax,
     "min(3, world); 2 with ad-psgd, world with full", "Workers of a group."},
    {"group.min", field<&JobOptions::group_min>(), kClosedGroups, kAlways, 2, kWorldMax, "",
     "The smallest group that is closed when group.wait_ms has passed."},
    {"group.wait_ms", field<&JobOptions::group_wait_ms>(), kClosedGroups, kAlways, 1, kAnyMs,
     "follows from the arrivals seen, at most ten median steps",
     "The longest wait for a group of group.size workers."},
    {"group.window", field<&JobOptions::history_window>(), kSizedGroups, kAlways, 1, kAnyCount,
     "twice the fewest groups that can connect all workers",
     "Among this many consecutive groups, every worker is connected with every other."},
    {"group.progress_gap", field<&JobOptions::progress_gap>(), kGaps, kAlways, 1, kAnyCount, "",
     "A worker that has made this many calls fewer is in no group for which a faster worker "
     "waits."},
    {"group.edges", field<&JobOptions::edges>(), kGraphs, kAlways, 1, kEdgesMax, "any two may",
     "The communication graph: pairs of ranks that may average with each other. It must connect "
     "all workers."},

    {"average.weights", field<&JobOptions::weights>(), kAverages, kAlways, 0, 0, "",
     "The weight of a model in its group's average: equal for all, or lower for older models, by "
     "an exponential moving average over iterations."},
    {"average.alpha", field<&JobOptions::alpha>(), kAverages, kDynamic, 0, kBelowOne, "",
     "The decay of dynamic weights."},
    {"average.missing", field<&JobOptions::missing>(), kAverages, kDynamic, 0, 0, "",
     "Who gets the weight of an iteration that no member of the group has: the members of the "
     "closest iteration, or the model of the first pace_broadcast."},

    {"quorum", field<&JobOptions::quorum>(), kGradients, kAlways, 0, 0, "",
     "How many workers must have called before a reduce goes on: all, the first, half on average "
     "(a worker drawn for each round), half, or quorum.count. Source: Li et al., PPoPP 2020."},
    {"quorum.count", field<&JobOptions::quorum_count>(), kGradients, kCounted, 1, kWorldMax,
     "none: it must be given", "The number of workers of quorum count."},
    {"quorum.late", field<&JobOptions::late>(), kGradients, kPartial, 0, 0, "",
     "The use of a gradient whose round has begun without it: it is added to the worker's next "
     "one, or it is lost."},
    {"quorum.staleness_max", field<&JobOptions::staleness_max>(), kGradients, kPartial, 1,
     kAnyCount, "",
     "Rounds. When a contribution would become older, the next round waits for its owner."},
    {"quorum.divide_by", field<&JobOptions::divide_by>(), kGradients, kPartial, 0, 0, "",
     "The divisor of a mean: the number of members, or of those that contributed."},

    {"reduce.resync_every", field<&JobOptions::resync_every>(), kGradients, kAlways, 0, kAnyCount,
     "", "Rounds after which all workers are asked to call pace_sync. 0: never."},
    {"reduce.reject_nonfinite", field<&JobOptions::reject_nonfinite>(), kGradients, kAlways, 0, 1,
     "", "1: a reduce of gradients with an infinity or a NaN is refused."},

    {"compression", field<&JobOptions::compression>(), kGradients, kAlways, 0, 0, "",
     "The elements of gradients that travel between nodes: all as they are, all as halves, or the "
     "largest, by SparDL (Zhao et al.) or its rivals. Needs quorum all."},
    {"topk.density", field<&JobOptions::density>(), kGradients, kTopK, kAboveZero, 1, "",
     "The share of the elements that is chosen."},
    {"topk.residuals", field<&JobOptions::residuals>(), kGradients, kTopK, 0, 0, "",
     "The cut values that are added again in later rounds: all; those that a participant left out, "
     "or sent without being in the result; those that it left out."},
    {"topk.teams", field<&JobOptions::teams>(), kGradients, kTeams, 1, kWorldMax,
     "chosen by the cost model", "SparDL's d, which must divide the number of participants."},
    {"topk.team_gather", field<&JobOptions::team_gather>(), kGradients, kTeams, 0, 0, "",
     "How teams gather each other's results."},
    {"topk.indices", field<&JobOptions::indices>(), kGradients, kTopK, 0, 0, "",
     "How indices travel: four bytes each, or compressed."},
    {"topk.values", field<&JobOptions::values>(), kGradients, kTopK, 0, 0, "",
     "How values travel."},
    {"topk.hierarchy", field<&JobOptions::hierarchy>(), kGradients, kTopK, 0, 0, "",
     "Who takes part: each node, with the sum of its workers' gradients, or each worker, as in the "
     "paper."},
    {"topk.dense_fallback", field<&JobOptions::dense_fallback>(), kGradients, kTopK, 0, 0, "",
     "Whether an exchange is dense where that would be faster."},

    {"server.elements", field<&JobOptions::elements>(), kServers, kAlways, 1, kElementsMax,
     "none: it must be given", "Elements of the model, all buffers together."},
    {"server.staleness", field<&JobOptions::staleness>(), kStaleServers, kAlways, 0, kAnyCount, "",
     "Steps that a worker may be ahead of the slowest."},
    {"server.rate", field<&JobOptions::rate>(), kServers, kAlways, 0, 0, "",
     "The weight of an update in the model: 1 (SSPSGD), server.constant_rate (ConSGD), or less if "
     "several were computed on one version (DynSGD)."},
    {"server.constant_rate", field<&JobOptions::constant_rate>(), kServers, kConstantRate,
     kAboveZero, 1, "1/world", "The weight of each update with server.rate constant."},
    {"server.filter", field<&JobOptions::filter>(), kServers, kAlways, 0,
     std::numeric_limits<double>::max(), "",
     "Elements of updates whose magnitude is below this wait in the daemon until they have grown. "
     "0: all are sent."},
    {"server.shards", field<&JobOptions::shards>(), kServers, kAlways, 1, kShardsMax,
     "one for each node of the first workers", "Parts of the model."},
    {"server.checkpoint_every_ms", field<&JobOptions::checkpoint_every_ms>(), kServers, kAlways, 1,
     kAnyMs, "when a worker calls pace_checkpoint",
     "How often the daemons save the model to their disks, if it has changed."},
    {"server.checkpoint_copies", field<&JobOptions::checkpoint_copies>(), kServers, kAlways, 1, 2,
     "", "Nodes whose disks have each shard's part of a checkpoint."},
    {"server.restore", field<&JobOptions::restore>(), kServers, kAlways, 0, 1, "",
     "1: the job begins with the newest checkpoint of a job of this user and name, if its nodes "
     "have one."},
    {"server.unsynchronized", field<&JobOptions::unsynchronized>(), kServers, kAlways, 0, 1, "",
     "1: a pull may see an update in one shard and not in another. For comparison."},
};

}  // namespace

std::span<const OptionRow> option_table() {
    return kRows;
}

const OptionRow* find_option(std::string_view name) {
    for (const OptionRow& row : kRows) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

bool fits(const Scope& scope, const PolicyRow& policy) {
    return (!scope.family || *scope.family == policy.family) &&
           (policy.takes & scope.takes) == scope.takes;
}

std::vector<std::string_view> policies_of(const Scope& scope) {
    std::vector<std::string_view> words;
    for (const PolicyRow& policy : policies()) {
        if (fits(scope, policy)) words.push_back(policy.word);
    }
    return words;
}

std::string words_of(const Scope& scope) {
    return "policy " + listed(policies_of(scope));
}

bool is_switch(const OptionRow& row) {
    return row.field.kind == OptionKind::integer && row.least == 0 && row.greatest == 1;
}

bool counts(const OptionRow& row, const JobOptions& options) {
    const PolicyRow* const policy = find(options.policy);
    return policy != nullptr && fits(row.scope, *policy) &&
           (row.need.holds == nullptr || row.need.holds(options));
}

bool is_absent(const OptionRow& row, const JobOptions& options) {
    const OptionValue value = value_of(row, options);
    switch (row.field.kind) {
        case OptionKind::integer:
            return static_cast<double>(std::get<int64_t>(value.value)) < row.least;
        case OptionKind::real:
            return std::get<double>(value.value) < row.least;
        case OptionKind::text:
            return false;
        case OptionKind::bytes:
            return std::get<std::vector<uint8_t>>(value.value).empty();
    }
    return false;
}

OptionValue value_of(const OptionRow& row, const JobOptions& options) {
    OptionValue value{std::string(row.name), {}};
    row.field.read(options, value);
    return value;
}

}  // namespace pace::protocol
