#include "service/controller/shell/options_json.h"

#include "service/controller/core/option_words.h"

namespace pace::controller {

using Json = nlohmann::json;

namespace {

Json of_groups(const JobOptions& options) {
    Json json{{"weights", name_of(options.weights)}, {"missing", name_of(options.missing)}};
    if (options.weights == Weights::dynamic) json["alpha"] = options.alpha;
    if (options.policy == Policy::automatic) return json;  // what it has chosen is told beside
    json.update({{"group_size", options.group_size}, {"history_window", options.history_window}});
    if (options.policy == Policy::partial_reduce)
        json.update({{"group_min", options.group_min}, {"group_wait_ms", options.group_wait_ms}});
    if (options.policy == Policy::prague_smart) json["progress_gap"] = options.progress_gap;
    // How many there are: of a large graph, to list them would take more room than all else.
    if (!options.edges.empty()) json["edges"] = options.edges.size() / 2;
    return json;
}

Json of_rounds(const JobOptions& options) {
    Json json{{"quorum", name_of(options.quorum)},
              {"resync_every", options.resync_every},
              {"compression", name_of(options.compression)},
              {"reject_nonfinite", options.reject_nonfinite}};
    if (options.quorum == Quorum::count) json["quorum_count"] = options.quorum_count;
    if (is_partial(options))
        json.update({{"late", name_of(options.late)},
                     {"staleness_max", options.staleness_max},
                     {"divide_by", name_of(options.divide_by)}});
    if (is_top_k(options.compression))
        json.update({{"density", options.density},
                     {"residuals", name_of(options.residuals)},
                     {"indices", name_of(options.indices)},
                     {"values", name_of(options.values)},
                     {"hierarchy", name_of(options.hierarchy)},
                     {"dense_fallback", name_of(options.dense_fallback)}});
    if (options.compression == Compression::spardl)
        json.update({{"teams", options.teams}, {"team_gather", name_of(options.team_gather)}});
    return json;
}

Json of_server(const JobOptions& options) {
    Json json{{"elements", options.elements},
              {"rate", name_of(options.rate)},
              {"filter", options.filter},
              {"shards", options.shards},  // 0: as many as the first view has nodes
              {"checkpoint_copies", options.checkpoint_copies},
              {"restore", options.restore}};
    if (options.policy == Policy::ssp) json["staleness_max"] = options.staleness_max;
    if (options.rate == Rate::constant) json["constant_rate"] = options.constant_rate;
    if (options.checkpoint_every_ms != 0) json["checkpoint_every_ms"] = options.checkpoint_every_ms;
    if (options.unsynchronized) json["unsynchronized"] = true;
    return json;
}

}  // namespace

Json options_json(const JobOptions& options) {
    Json json{{"world", options.world},
              {"policy", name_of(options.policy)},
              {"worker_timeout_ms", options.worker_timeout_ms}};
    if (forms_groups(options.policy)) json.update(of_groups(options));
    if (options.policy == Policy::all_reduce) json.update(of_rounds(options));
    if (family_of(options.policy) == Family::server) json.update(of_server(options));
    return json;
}

}  // namespace pace::controller
